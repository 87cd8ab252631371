/** When to ask the store next. Hints only: none of this decides whether anybody may act. */
import { type Instant, later } from '../clock/clock.ts'
import type { Turn } from './machine.ts'
import type { Timing } from './timing.ts'

/** Spreads followers that all wait for the same expiry. */
export const FOLLOW_JITTER_MS = 50
/** The first wait after contention; doubles. */
const CONTENTION_FIRST_MS = 10
const FAILING_MOST_MS = 1_000
/** The first look at the store while holding off; the next ones come at double the distance. */
const HOLD_OFF_FIRST_MS = 50
/** How often a refusal that taught us a newer generation is followed by another question at once. */
export const REPEATS_AT_ONCE = 3
/** Tenures may end early this many times in a row before the next one is held back. */
const FLAPS_FREE = 1

/** After a refusal: when the lease may be free, and in half a ttl at the latest. */
export function afterRefusal(timing: Timing, remainingMs: number | null, turn: Turn): Instant {
  const halfMs = timing.ttlMs / 2
  const waitMs = Math.min(remainingMs ?? halfMs, halfMs)
  return later(turn.now, waitMs + turn.random * FOLLOW_JITTER_MS)
}

/** After an attempt that failed, from half the back-off to all of it. */
export function afterFailure(timing: Timing, turn: Turn): Instant {
  return later(turn.now, timing.backoffMs * (0.5 + turn.random / 2))
}

/** The longest wait of a follower that keeps failing: a crowd must not storm a store that is down. */
function waitMostMs(timing: Timing): number {
  return Math.max(timing.backoffMs, Math.min(FAILING_MOST_MS, timing.ttlMs / 4))
}

/** As `afterFailure`, for a follower: less soon each time. */
export function afterFailures(timing: Timing, tries: number, turn: Turn): Instant {
  const mostMs = Math.min(waitMostMs(timing), timing.backoffMs * 2 ** tries)
  return later(turn.now, mostMs * (0.5 + turn.random / 2))
}

/** After contention: soon, and less soon each time. */
export function afterContention(timing: Timing, tries: number, turn: Turn): Instant {
  const mostMs = Math.min(waitMostMs(timing), CONTENTION_FIRST_MS * 2 ** tries)
  return later(turn.now, mostMs * (0.5 + turn.random / 2))
}

/** While somebody has to mend the store first, and for looking on: half a ttl. */
export function afterHalfTtl(timing: Timing, turn: Turn): Instant {
  return later(turn.now, timing.ttlMs / 2 + turn.random * FOLLOW_JITTER_MS)
}

/** While holding off: soon at first, as a successor, whose tenure ends the hold-off, mostly comes at once. */
export function whileHoldingOff(timing: Timing, tries: number, turn: Turn): Instant {
  return later(turn.now, Math.min(timing.ttlMs / 2, HOLD_OFF_FIRST_MS * 2 ** tries))
}

/** How long a candidate whose tenures keep ending early is held back: at most half a ttl. */
export function dampingMs(timing: Timing, flaps: number): number {
  if (flaps <= FLAPS_FREE) return 0
  return Math.min(timing.ttlMs / 2, timing.backoffMs * 2 ** (flaps - FLAPS_FREE - 1))
}
