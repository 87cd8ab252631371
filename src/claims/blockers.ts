/** Who stands in the way of a request: claims of others, and those who waited first. */
import { type Claim, endsAtMs, gone, isCurrent, left } from './claim.ts'
import type { ClaimPath } from './path.ts'
import type { Turn } from './turn.ts'
import type { WaitedPath } from './wait-queue.ts'

/** Who asks, for what, and who of those that wait came before. */
export interface Asker {
  readonly owner: string
  readonly paths: readonly ClaimPath[]
  /** Place in the queue. */
  readonly order: number
}

/** The place of who asks and does not wait: behind everybody. */
export const AT_ONCE = Number.POSITIVE_INFINITY
/** The place that a newcomer to the queue would get. */
export const LAST = Number.MAX_SAFE_INTEGER

export type Blocker =
  | { readonly path: ClaimPath; readonly claim: Claim }
  | { readonly path: ClaimPath; readonly waited: WaitedPath }

/** Every blocker, path by path, claims first. */
export function* blockersOf(asker: Asker, turn: Turn): Generator<Blocker> {
  for (const path of asker.paths) {
    for (const claim of turn.table.index.overlapping(path, asker.owner)) yield { path, claim }
    if (isRefresh(asker, path, turn)) continue
    for (const waited of turn.queue.index.overlapping(path, asker.owner)) {
      if (waited.waiter.order < asker.order) yield { path, waited }
    }
  }
}

export function isBlocked(asker: Asker, turn: Turn): boolean {
  return !blockersOf(asker, turn).next().done
}

/**
 * Who refreshes what it holds overtakes nobody: whoever waits for it waits for this very claim. That is so at once
 * only. A wait may lose its claim before its turn comes, and would then stand behind those that it was let pass.
 */
function isRefresh({ owner, order }: Asker, path: ClaimPath, { table, nowMs }: Turn): boolean {
  if (order !== AT_ONCE) return false
  const held = table.held(owner, path)
  return held !== undefined && isCurrent(held, nowMs)
}

/** A claim of another that overlaps. Times in whole milliseconds. */
export interface Conflict {
  /** As asked for. */
  readonly path: string
  /** As its holder gave it. */
  readonly heldPath: string
  readonly holder: string
  readonly heldForMs: number
  /** When it ends if it is not refreshed; null while a pin keeps it alive for no telling how long. */
  readonly expiresInMs: number | null
  readonly pinned: boolean
}

/** An overlapping wait that began earlier. */
export interface Ahead {
  readonly path: string
  readonly waitedPath: string
  readonly holder: string
  readonly waitingForMs: number
  /** When the wait ends at the latest. */
  readonly endsInMs: number
}

export interface BlockerViews {
  readonly conflicts: readonly Conflict[]
  readonly ahead: readonly Ahead[]
}

export function viewBlockers(blockers: readonly Blocker[], nowMs: number): BlockerViews {
  const conflicts: Conflict[] = []
  const ahead: Ahead[] = []
  for (const blocker of blockers) {
    if ('claim' in blocker) conflicts.push(conflictOf(blocker.path, blocker.claim, nowMs))
    else ahead.push(aheadOf(blocker.path, blocker.waited, nowMs))
  }
  return { conflicts, ahead }
}

function conflictOf(path: ClaimPath, claim: Claim, nowMs: number): Conflict {
  const endsInMs = endsAtMs(claim) - nowMs
  return {
    path: path.text,
    heldPath: claim.path.text,
    holder: claim.holder,
    heldForMs: gone(nowMs - claim.heldSinceMs),
    expiresInMs: Number.isFinite(endsInMs) ? left(endsInMs) : null,
    pinned: claim.pins.size > 0,
  }
}

function aheadOf(path: ClaimPath, { waiter, path: waitedPath }: WaitedPath, nowMs: number): Ahead {
  return {
    path: path.text,
    waitedPath: waitedPath.text,
    holder: waiter.holder,
    waitingForMs: gone(nowMs - waiter.sinceMs),
    endsInMs: left(waiter.untilMs - nowMs),
  }
}

/** The earliest moment at which one of the blockers may be gone by itself. */
export function nextChangeMs(blockers: readonly Blocker[]): number {
  let earliest = Number.POSITIVE_INFINITY
  for (const blocker of blockers) {
    const endMs = 'claim' in blocker ? endsAtMs(blocker.claim) : blocker.waited.waiter.untilMs
    if (endMs < earliest) earliest = endMs
  }
  return earliest
}
