/** Reads a leadership answer. Every doubt ends as "not leading". */
import { type Instant, later, remainingMs } from '../clock/clock.ts'
import type { Fence } from '../fencing/fence.ts'
import type { Reply } from './ask.ts'
import type { NotLeading, NotLeadingReason } from './check.ts'
import type { Promised } from './live.ts'
import type { Settings } from './options.ts'

/** A session goes into SQL as part of a setting: nothing but a UUID passes. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** No sidecar promises more; whatever says so is not believed further. */
const PROMISE_MOST_MS = 1_000

/** "Not leading", and what is needed to wait for better. */
export interface Unled {
  readonly leading: false
  readonly check: NotLeading
  /** What a long poll can wait upon; null where only asking again helps. */
  readonly revision: string | null
}

/** One look at the leadership. */
export type Look = (Promised & { readonly leading: true }) | Unled

type Fields = Readonly<Record<string, unknown>>

/** An object whose fields are yet to be looked at. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isGeneration(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1
}

export function unled(reason: NotLeadingReason, message: string, more: Partial<Unled['check']> = {}): Unled {
  return {
    leading: false,
    check: { leading: false, reason, message, current: null, ...more },
    revision: null,
  }
}

export function readAnswer(reply: Reply, settings: Settings, now: Instant): Look {
  if (!reply.answered) return unled(reply.reason, reply.message)
  const { status, body, sentAt } = reply
  if (status !== 200) return unled(reasonOf(status), complaint(status, body, settings))
  const isAnswer =
    isFields(body) &&
    typeof body.leading === 'boolean' &&
    typeof body.election === 'string' &&
    typeof body.state === 'string' &&
    typeof body.revision === 'string'
  if (!isAnswer) return unled('malformed', notASidecar(settings))
  if (settings.election !== null && body.election !== settings.election) {
    const message = `the sidecar on ${settings.origin} answered for election ${JSON.stringify(body.election)} and was asked about ${JSON.stringify(settings.election)}: look what stands between`
    return unled('malformed', message)
  }
  return body.leading ? readLeading(body, settings, sentAt, now) : readNotLeading(body)
}

function readLeading(body: Fields, settings: Settings, sentAt: Instant, now: Instant): Look {
  const { generation, session, validForMs } = body
  const inFull =
    isGeneration(generation) &&
    typeof session === 'string' &&
    UUID.test(session) &&
    Number.isSafeInteger(validForMs) &&
    (validForMs as number) >= 1
  if (!inFull) return unled('malformed', `${notASidecar(settings)}; it said "leading" without a whole tenure`)
  const fence: Fence = { election: String(body.election), session, generation }
  const until = later(sentAt, Math.min(validForMs as number, PROMISE_MOST_MS))
  if (remainingMs(until, now) >= 1) return { leading: true, fence, sentAt, until }
  const message = `the answer "leading" was valid for ${validForMs} ms and came later than that: ask again`
  return unled('late', message, { current: currentOf(body) })
}

function readNotLeading(body: Fields): Unled {
  const current = currentOf(body)
  const holds =
    current === null || current.holder === null
      ? ''
      : `; ${current.holder} holds generation ${current.generation}`
  const because = typeof body.reason === 'string' ? ` (${body.reason})` : ''
  const reason = body.state === 'draining' ? 'draining' : 'not-leading'
  const told = unled(reason, `this instance is ${body.state}${because}${holds}`, { current })
  // A leader that cannot promise just now may renew, and then no transition would end a long poll.
  return { ...told, revision: body.state === 'leading' ? null : String(body.revision) }
}

function currentOf({ current }: Fields): NotLeading['current'] {
  if (!isFields(current)) return null
  const { holder, generation } = current
  const known = (typeof holder === 'string' || holder === null) && Number.isSafeInteger(generation)
  return known ? { holder, generation: generation as number } : null
}

function reasonOf(status: number): NotLeadingReason {
  if (status >= 500) return 'fault'
  if (status >= 400) return 'refused'
  return status >= 300 ? 'redirect' : 'malformed'
}

/** The sidecar's own words where there are any: they name the remedy. */
function complaint(status: number, body: unknown, settings: Settings): string {
  const said = isFields(body) && isFields(body.error) ? body.error.message : null
  return typeof said === 'string' ? said : `${notASidecar(settings)}; it answered ${status}`
}

function notASidecar({ origin }: Settings): string {
  return `what answers on ${origin} is not a Tenure sidecar: give the address of one as url`
}
