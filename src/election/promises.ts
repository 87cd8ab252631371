import { type Instant, later, latest, toWaitMs } from '../clock/clock.ts'

/**
 * Until when answers of "leading" have been promised to stay true.
 *
 * Kept by the steady clock that has run least, and beyond the end of the tenure: nothing of ours releases a
 * lease before, except that the application itself says that it has stopped.
 */
export interface Promises {
  /** The tenure that `until` was promised under. */
  readonly generation: number
  readonly until: Instant | null
  /** What was promised under the tenures before it. */
  readonly before: Instant | null
}

export const NO_PROMISES: Promises = { generation: 0, until: null, before: null }

function both(a: Instant | null, b: Instant | null): Instant | null {
  if (a === null || b === null) return a ?? b
  return latest(a, b)
}

/** Remembers that one answer under `generation` was promised for `forMs` from now. */
export function promise(promises: Promises, generation: number, now: Instant, forMs: number): Promises {
  const until = later(now, forMs)
  if (promises.generation === generation) return { ...promises, until: both(promises.until, until) }
  return { generation, until, before: both(promises.before, promises.until) }
}

/** The application has stopped its work under `generation`: what was promised under it binds no more. */
export function waive(promises: Promises, generation: number): Promises {
  return promises.generation === generation ? { ...promises, until: null } : promises
}

/** How long until every promise has been kept; zero or less when none is open. */
export function promisedForMs(promises: Promises, now: Instant): number {
  const until = both(promises.until, promises.before)
  return until === null ? 0 : toWaitMs(until, now)
}
