/**
 * The body of a leadership answer.
 *
 * Whoever reads "leading" acts on it, so every doubt ends here as "not leading": a promise that is shorter than
 * one millisecond, a tenure that is not told in full.
 */
import type { Answer, Seen, State, Status, StoreStatus } from '../election/status.ts'
import { GENERATION_LIMIT } from '../election/tenure.ts'

/** What is the caller's for as long as it leads; nobody else is given it. */
interface Own {
  readonly leading: boolean
  readonly generation: number | null
  readonly session: string | null
  readonly validForMs: number
}

const NOT_LEADING: Own = { leading: false, generation: null, session: null, validForMs: 0 }

/** The fields of a leadership body that hold whether or not it promises. */
export interface LeadershipHint {
  readonly election: string
  readonly identity: string
  readonly leading: boolean
  readonly generation: number | null
  readonly session: string | null
  readonly state: State
  readonly reason: string
  readonly since: string
  readonly revision: string
  readonly current: Seen | null
  readonly draining: { readonly generation: number; readonly leaseRemainingMs: number } | null
  readonly store: StoreStatus
}

/** Time left, in whole milliseconds: never more than there is. */
function left(ms: number): number {
  return Math.min(Math.max(Math.floor(ms), 0), Number.MAX_SAFE_INTEGER)
}

/** Time gone by, in whole milliseconds: never less than it was. */
function gone(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), Number.MAX_SAFE_INTEGER)
}

function own(status: Status, forMs: number): Own {
  const { leading, generation, session } = status
  const validForMs = left(forMs)
  const sound = leading && generation !== null && generation < GENERATION_LIMIT && session !== null
  return sound && validForMs >= 1 ? { leading, generation, session, validForMs } : NOT_LEADING
}

/** A leadership body without a promise: for those who are told to ask again. */
export function leadershipHint(status: Status): LeadershipHint {
  const { leading, generation, session } = own(status, status.actForMs)
  const { current, draining, store } = status
  return {
    election: status.election,
    identity: status.identity,
    leading,
    generation,
    session,
    state: status.state,
    reason: status.reason,
    since: new Date(status.sinceMs).toISOString(),
    revision: status.revision,
    current: current && {
      holder: current.holder,
      generation: current.generation,
      expiresInMs: current.expiresInMs === null ? null : left(current.expiresInMs),
      observedAgeMs: gone(current.observedAgeMs),
    },
    draining: draining && {
      generation: draining.generation,
      leaseRemainingMs: left(draining.leaseRemainingMs),
    },
    store: {
      kind: store.kind,
      location: store.location,
      lastSuccessAgoMs: store.lastSuccessAgoMs === null ? null : gone(store.lastSuccessAgoMs),
      error: store.error && { kind: store.error.kind, message: store.error.message },
    },
  }
}

/** What a long poll returns: `validForMs` null says that it is a hint, and that only a plain question promises. */
export function leadershipNews(status: Status): LeadershipHint & { readonly validForMs: null } {
  return { ...leadershipHint(status), validForMs: null }
}

/** An answer, ready to be sent. */
export interface Laid {
  readonly leading: boolean
  readonly text: string
}

const QUOTES_MOST = 256
const quotes = new Map<string, string>()

/** JSON of a text. The few that recur at every answer are kept. */
function quoted(text: string): string {
  const known = quotes.get(text)
  if (known !== undefined) return known
  if (quotes.size >= QUOTES_MOST) quotes.clear()
  const made = JSON.stringify(text)
  quotes.set(text, made)
  return made
}

function quotedOrNull(text: string | null): string {
  return text === null ? 'null' : quoted(text)
}

let sinceMs = Number.NaN
let sinceText = ''

function isoOf(ms: number): string {
  if (ms !== sinceMs) {
    sinceText = `"${new Date(ms).toISOString()}"`
    sinceMs = ms
  }
  return sinceText
}

function layCurrent(current: Seen | null): string {
  if (current === null) return 'null'
  const expiresInMs = current.expiresInMs === null ? 'null' : left(current.expiresInMs)
  return `{"holder":${quotedOrNull(current.holder)},"generation":${current.generation},"expiresInMs":${expiresInMs},"observedAgeMs":${gone(current.observedAgeMs)}}`
}

function layStore(store: StoreStatus): string {
  const agoMs = store.lastSuccessAgoMs === null ? 'null' : gone(store.lastSuccessAgoMs)
  const error =
    store.error === null
      ? 'null'
      : `{"kind":${quoted(store.error.kind)},"message":${quoted(store.error.message)}}`
  return `{"kind":${quoted(store.kind)},"location":${quoted(store.location)},"lastSuccessAgoMs":${agoMs},"error":${error}}`
}

/** The body of an answer that promises, laid out by hand: this is asked many times a second. */
export function layAnswer(answer: Answer): Laid {
  const { leading, generation, session, validForMs } = own(answer, answer.validForMs)
  const { draining } = answer
  const drain =
    draining === null
      ? 'null'
      : `{"generation":${draining.generation},"leaseRemainingMs":${left(draining.leaseRemainingMs)}}`
  const text = `{"election":${quoted(answer.election)},"identity":${quoted(answer.identity)},"leading":${leading},"generation":${generation},"session":${quotedOrNull(session)},"validForMs":${validForMs},"state":"${answer.state}","reason":"${answer.reason}","since":${isoOf(answer.sinceMs)},"revision":${quoted(answer.revision)},"current":${layCurrent(answer.current)},"draining":${drain},"store":${layStore(answer.store)}}`
  return { leading, text }
}
