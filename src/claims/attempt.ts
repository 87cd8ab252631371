/** Waiting for paths: a place in the queue, and attempts that never sleep. */
import { type Granted, grantAll, type Refused, type Request, readPaths, refuse } from './acquire.ts'
import { AT_ONCE, type Blocker, type BlockerViews, blockersOf, LAST, nextChangeMs } from './blockers.ts'
import { findCycle, type Waiting } from './cycle.ts'
import { WAITS_MOST } from './limits.ts'
import { left, type Turn } from './turn.ts'
import type { Ticket, WaitEnd, Waiter } from './wait-queue.ts'

export interface WaitRequest extends Request {
  /** The wait is over after this, in milliseconds; 0: do not wait. */
  readonly waitMs: number
  /** May wait while it holds something. */
  readonly mayHold: boolean
}

/** The request has a place in the queue. Nobody overtakes it there, and nothing happens unless it tries again. */
export interface Queued extends BlockerViews {
  readonly granted: false
  readonly epoch: string
  readonly reason: 'waiting'
  readonly ticket: Ticket
  /** When it is worth to try again, if nothing changes before: 1 at least. */
  readonly nextInMs: number
  /** Resolves when it is worth to try again at once; never rejects. */
  readonly changed: Promise<void>
}

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

/** Grants at once, or takes a place in the queue where that leads anywhere. */
export function firstAttempt(request: WaitRequest, turn: Turn): Attempt {
  const { owner, holder, ttlMs, mayHold, waitMs } = request
  const { paths, badPaths } = readPaths(request.paths, turn)
  const atOnce = [...blockersOf({ owner, paths, order: AT_ONCE }, turn)]
  if (badPaths.length > 0) return refuse('bad_path', atOnce, turn, badPaths)
  if (atOnce.length === 0) return grantAll(request, paths, turn)
  if (!mayHold && turn.table.holdsAny(owner)) return giveUp('holding', atOnce, turn)
  if (waitMs === 0) return giveUp('timeout', atOnce, turn)
  const blockers = [...blockersOf({ owner, paths, order: LAST }, turn)]
  const cycle = findCycle(request, (other) => waitsFor(other, request, blockers, turn))
  if (cycle !== null) return giveUp('cycle', blockers, turn, cycle)
  if (turn.queue.size >= WAITS_MOST) return giveUp('too_many_waits', blockers, turn)
  const untilMs = turn.nowMs + waitMs
  const waiter = turn.queue.add({ owner, holder, paths, ttlMs, mayHold, untilMs }, turn.nowMs)
  return queued(waiter, blockers, turn)
}

/**
 * Tries again from the place in the queue.
 *
 * There is no need to look for a cycle again: after its beginning a wait gets no new blockers but those that it
 * waited behind already.
 */
export function nextAttempt(waiter: Waiter, turn: Turn): Attempt {
  const blockers = [...blockersOf(waiter, turn)]
  const { ended } = waiter
  if (ended !== null) return giveUp(ended === 'granted' ? 'cancelled' : ended, blockers, turn)
  if (blockers.length === 0) {
    turn.queue.remove(waiter, 'granted')
    left(turn, waiter)
    return grantAll(waiter, waiter.paths, turn)
  }
  if (waiter.mayHold || !turn.table.holdsAny(waiter.owner)) return queued(waiter, blockers, turn)
  endWait(waiter, turn)
  return giveUp('holding', blockers, turn)
}

/** Gives a place in the queue up. */
export function endWait(waiter: Waiter, turn: Turn): boolean {
  if (waiter.ended !== null) return false
  turn.queue.remove(waiter, 'cancelled')
  left(turn, waiter)
  return true
}

function queued(waiter: Waiter, blockers: readonly Blocker[], turn: Turn): Queued {
  const { ticket, untilMs, changed } = waiter
  const nextInMs = Math.ceil(Math.min(untilMs, nextChangeMs(blockers)) - turn.nowMs)
  const { badPaths: _, ...refused } = refuse('waiting', blockers, turn)
  return { ...refused, ticket, nextInMs, changed: changed.promise }
}

function giveUp(
  reason: NotWaited['reason'],
  blockers: readonly Blocker[],
  turn: Turn,
  cycle: readonly Waiting[] = [],
): NotWaited {
  const { badPaths: _, ...refused } = refuse(reason, blockers, turn)
  return { ...refused, cycle: cycle.map(({ holder }) => holder) }
}

/** Whom an owner waits for, by all of its waits, the one that is asked for included. */
function* waitsFor(
  owner: string,
  newcomer: Waiting,
  blockers: readonly Blocker[],
  turn: Turn,
): Generator<Waiting> {
  if (owner === newcomer.owner) for (const blocker of blockers) yield ownerOf(blocker)
  for (const waiter of turn.queue.of(owner)) {
    for (const blocker of blockersOf(waiter, turn)) yield ownerOf(blocker)
  }
}

export function ownerOf(blocker: Blocker): Waiting {
  return 'claim' in blocker ? blocker.claim : blocker.waited.waiter
}
