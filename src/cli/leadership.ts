import type { Clock } from '../clock/clock.ts'
import type { LeadershipHint } from '../http/leadership.ts'
import { ask, type Call, isRecord, notASidecar } from './client.ts'

/** A leadership answer as a command reads it. */
export type Leadership = LeadershipHint

/** Asks about an election; `path` with its query. */
export async function askLeadership(url: string, clock: Clock, call: Call = {}): Promise<Leadership> {
  const body = await ask(url, clock, call)
  if (!isLeadership(body)) throw notASidecar(url)
  return body
}

function isLeadership(body: unknown): body is Leadership {
  return (
    isRecord(body) &&
    typeof body.leading === 'boolean' &&
    typeof body.state === 'string' &&
    typeof body.revision === 'string' &&
    isRecord(body.store)
  )
}
