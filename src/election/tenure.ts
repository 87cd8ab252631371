import { type Instant, later, remainingMs } from '../clock/clock.ts'

/** Generations are integers from 1 below this bound, so that a JSON number carries them exactly. */
export const GENERATION_LIMIT = 2 ** 53

/** What proves to a store that a write belongs to one tenure: nothing less than all three. */
export interface TenureKey {
  readonly election: string
  /** Grows at every new tenure of the election, never on a renewal. */
  readonly generation: number
  /** The holder's process start, a UUID. */
  readonly session: string
}

/** One unbroken period of one holder under one generation. A value: a renewal makes a new one. */
export interface Tenure extends TenureKey {
  /** The holder acts strictly before this point, on every clock. */
  readonly actUntil: Instant
}

/** The local deadline of a grant: measured from just before the request was sent, not from its reply. */
export function actUntil(sentAt: Instant, ttlMs: number, marginMs: number): Instant {
  return later(sentAt, ttlMs - marginMs)
}

/** Time for which the holder may still act; zero or less once the tenure is over. */
export function actForMs(tenure: Tenure, now: Instant): number {
  return remainingMs(tenure.actUntil, now)
}

/** Whether the tenure is over for its holder, whatever the store still says. */
export function isOver(tenure: Tenure, now: Instant): boolean {
  return actForMs(tenure, now) <= 0
}
