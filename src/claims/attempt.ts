/** Waiting for paths: a place in the queue, and attempts that never sleep. */
import { type Granted, grantAll, type Refused, type Request, readPaths, refuse } from './acquire.ts'
import {
  type Asker,
  AT_ONCE,
  type BlockerViews,
  isBlocked,
  isBlockedAtOnce,
  nextChangeMs,
  viewBlockers,
} from './blockers.ts'
import { circleWith } from './circle.ts'
import type { Waiting } from './cycle.ts'
import { WAITS_MOST } from './limits.ts'
import { left, type Turn } from './turn.ts'
import type { Ticket, WaitEnd, Waiter } from './wait-queue.ts'

/** The place that a newcomer to the queue would get. */
const LAST = Number.MAX_SAFE_INTEGER

export interface WaitRequest extends Request {
  /** The wait is over after this, in milliseconds; 0: do not wait. */
  readonly waitMs: number
  /** May wait while it holds something. */
  readonly mayHold: boolean
}

/** The request has a place in the queue. Nobody overtakes it there, and nothing happens unless it tries again. */
export interface Place {
  readonly granted: false
  readonly epoch: string
  readonly reason: 'waiting'
  readonly ticket: Ticket
  /** When it is worth to try again, if nothing changes before: 1 at least. */
  readonly nextInMs: number
  /** Resolves when it is worth to try again at once; never rejects. */
  readonly changed: Promise<void>
}

/** A place in the queue, and what it waits for. */
export interface Queued extends Place, BlockerViews {}

/**
 * The wait is over, or never began:
 *
 * - `timeout`: the bound has come; `cancelled`: somebody ended the wait;
 * - `cycle`: those named in `cycle` would wait for each other, in that order, for ever;
 * - `holding`: the holder holds something, and this wait does not allow that;
 * - `too_many_waits`: the queue is full.
 */
export interface NotWaited extends BlockerViews {
  readonly granted: false
  readonly epoch: string
  readonly reason: WaitEnd | 'cycle' | 'holding' | 'too_many_waits'
  /** Labels; empty unless the reason is `cycle`. */
  readonly cycle: readonly string[]
}

export type Attempt = Granted | Refused | NotWaited | Queued
/** What an attempt comes to. Whom a place waits for is named where an answer goes out, and not at each wake-up. */
export type Outcome = Granted | Refused | NotWaited | Place

/** Grants at once, or takes a place in the queue where that leads anywhere. */
export function firstAttempt(request: WaitRequest, turn: Turn): Outcome {
  const { owner, holder, ttlMs, mayHold, waitMs } = request
  const { paths, badPaths } = readPaths(request.paths, turn)
  const atOnce = { owner, paths, order: AT_ONCE }
  if (badPaths.length > 0) return refuse('bad_path', atOnce, turn, badPaths)
  if (!isBlockedAtOnce(owner, paths, turn)) return grantAll(request, paths, turn)
  if (!mayHold && turn.table.holdsAny(owner)) return giveUp('holding', atOnce, turn)
  if (waitMs === 0) return giveUp('timeout', atOnce, turn)
  if (turn.queue.size >= WAITS_MOST) return giveUp('too_many_waits', { owner, paths, order: LAST }, turn)
  const behind = turn.queue.overlapping(owner, paths)
  const cycle = circleWith({ owner, holder, paths, behind }, turn)
  if (cycle !== null) return giveUp('cycle', { owner, paths, order: LAST }, turn, cycle)
  const untilMs = turn.nowMs + waitMs
  const waiter = turn.queue.add({ owner, holder, paths, ttlMs, mayHold, untilMs, behind }, turn.nowMs)
  return placed(waiter, turn)
}

/**
 * Tries again from the place in the queue.
 *
 * There is no need to look for a cycle again: after its beginning a wait gets no new blockers but those that it
 * waited behind already.
 */
export function nextAttempt(waiter: Waiter, turn: Turn): Outcome {
  const { ended } = waiter
  if (ended !== null) return giveUp(ended === 'granted' ? 'cancelled' : ended, waiter, turn)
  if (!isBlocked(waiter, turn)) {
    turn.queue.remove(waiter, 'granted')
    left(turn, waiter)
    return grantAll(waiter, waiter.paths, turn)
  }
  if (waiter.mayHold || !turn.table.holdsAny(waiter.owner)) return placed(waiter, turn)
  endWait(waiter, turn)
  return giveUp('holding', waiter, turn)
}

/** Gives a place in the queue up. */
export function endWait(waiter: Waiter, turn: Turn): boolean {
  if (waiter.ended !== null) return false
  turn.queue.remove(waiter, 'cancelled')
  left(turn, waiter)
  return true
}

/** Names those whom a place in the queue is behind; anything else is complete. */
export function named(outcome: Outcome, turn: Turn): Attempt {
  if (!('ticket' in outcome)) return outcome
  const waiter = turn.queue.find(outcome.ticket)
  return { ...outcome, ...viewBlockers(waiter ?? null, turn) }
}

function placed(waiter: Waiter, turn: Turn): Place {
  const { ticket, changed } = waiter
  const nextInMs = Math.ceil(nextChangeMs(waiter, turn) - turn.nowMs)
  return {
    granted: false,
    epoch: turn.epoch,
    reason: 'waiting',
    ticket,
    nextInMs,
    changed: changed.promise,
  }
}

function giveUp(
  reason: NotWaited['reason'],
  asker: Asker,
  turn: Turn,
  cycle: readonly Waiting[] = [],
): NotWaited {
  const { badPaths: _, ...refused } = refuse(reason, asker, turn)
  return { ...refused, cycle: cycle.map(({ holder }) => holder) }
}
