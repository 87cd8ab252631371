/**
 * Time as Tenure sees it: readings, deadlines, and the two ways to judge that a span of time went by.
 *
 * A deadline of our own ends when *any* clock says so (the largest elapsed time); what we wait out on somebody
 * else's behalf ends when *every* steady clock says so (the smallest). An error of a clock then costs
 * availability, never safety. docs/timing.md explains the arithmetic.
 */

/**
 * One reading of every clock, in milliseconds. The zero points differ: only two readings of the same machine's
 * same component may be subtracted.
 */
export interface Instant {
  /** Monotonic; on Linux it stands still while the machine is suspended. */
  readonly steadyMs: number
  /** Monotonic; counts suspend (Linux: time since boot, in steps of 10 ms). */
  readonly bootMs: number
  /** The wall clock's forward movement: steps back are not taken along, steps forward are. */
  readonly wallMs: number
}

/** Stops a timer. Calling it twice, or after it fired, does nothing. */
export type Cancel = () => void

/** Everything of the outside world that is not a store: clocks, timers and randomness, handed in. */
export interface Clock {
  /** Reads every clock. */
  now(): Instant
  /** The wall clock in milliseconds since 1970, for people to read; never compared with anything. */
  date(): number
  /** Names the clock behind `bootMs`: two processes with equal names may compare their `bootMs`. */
  readonly bootClockId: string
  /** Calls `fire` once, at the earliest after `delayMs` on the steady clock. A hint: it may come late. */
  after(delayMs: number, fire: () => void): Cancel
  /** Uniform in [0, 1). */
  random(): number
  /** A fresh random UUID. */
  uuid(): string
}

/** The point that lies `ms` after `from`, on each clock. */
export function later(from: Instant, ms: number): Instant {
  return { steadyMs: from.steadyMs + ms, bootMs: from.bootMs + ms, wallMs: from.wallMs + ms }
}

/** Time left until our own deadline, by the clock that has run furthest; zero or less once it has passed. */
export function remainingMs(deadline: Instant, now: Instant): number {
  return Math.min(
    deadline.steadyMs - now.steadyMs,
    deadline.bootMs - now.bootMs,
    deadline.wallMs - now.wallMs,
  )
}

/** Time still to be waited on another's behalf, by the steady clock that has run least; zero or less when over. */
export function toWaitMs(until: Instant, now: Instant): number {
  return Math.max(until.steadyMs - now.steadyMs, until.bootMs - now.bootMs)
}

/** Largest elapsed time that any clock shows, never negative. For deadlines of our own. */
export function longestElapsedMs(from: Instant, to: Instant): number {
  return Math.max(0, -remainingMs(from, to))
}

/** Smallest elapsed time of the steady clocks, never negative. For somebody else's expiry. */
export function shortestElapsedMs(from: Instant, to: Instant): number {
  return Math.max(0, -toWaitMs(from, to))
}

/** The later of two points on each clock: what keeps both of two waits. */
export function latest(a: Instant, b: Instant): Instant {
  return {
    steadyMs: Math.max(a.steadyMs, b.steadyMs),
    bootMs: Math.max(a.bootMs, b.bootMs),
    wallMs: Math.max(a.wallMs, b.wallMs),
  }
}
