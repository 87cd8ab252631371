import { type Look, readAnswer, unled } from './answer.ts'
import { ask } from './ask.ts'
import type { Drains } from './drains.ts'
import { Live, type Promised } from './live.ts'
import type { Settings } from './options.ts'

/** What the calls of one client share. */
export interface Desk {
  readonly settings: Settings
  readonly drains: Drains
}

export interface LookHow {
  /** Default: the client's own. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

/** Asks once, plainly: the only question whose answer says "leading". Never rejects. */
export async function look({ settings, drains }: Desk, how: LookHow = {}): Promise<Look> {
  const { clock, election } = settings
  const query = election === null ? {} : { election }
  const { timeoutMs = settings.timeoutMs, signal } = how
  const reply = await ask(settings, { path: '/v1/leadership', query, timeoutMs, signal })
  const seen = readAnswer(reply, settings, clock.now())
  if (!seen.leading || !drains.isGivenUp(seen.fence)) return seen
  const { generation } = seen.fence
  await drains.tell(seen.fence, signal)
  return unled(
    'drained',
    `the work under generation ${generation} was declared ended: the next tenure counts`,
  )
}

export function liveOf({ settings, drains }: Desk, promised: Promised): Live {
  return new Live(promised, settings.clock, (fence) => drains.isGivenUp(fence))
}
