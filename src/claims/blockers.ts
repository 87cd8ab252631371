/** Who stands in the way of a request: claims of others, and those who waited first. */
import { type Claim, endsAtMs, gone, isCurrent, left } from './claim.ts'
import type { ClaimPath } from './path.ts'
import type { Naming, Turn } from './turn.ts'
import type { WaitedPath, Waiter } from './wait-queue.ts'

/** Who asks, for what, and who of those that wait came before. */
export interface Asker {
  readonly owner: string
  readonly paths: readonly ClaimPath[]
  /** Place in the queue. */
  readonly order: number
}

/** The place of who asks and does not wait: behind everybody. */
export const AT_ONCE = Number.POSITIVE_INFINITY
/** How many of its blockers a wait looks at for the time to try again. Any one alone has to be gone first. */
const LOOKED_AT_FOR_TIME = 16

interface HeldAt {
  readonly path: ClaimPath
  readonly claim: Claim
}

interface WaitedAt {
  readonly path: ClaimPath
  readonly waited: WaitedPath
}

/** Claims of others that overlap, path by path. */
function* claimsInTheWay({ paths, owner }: Pick<Asker, 'paths' | 'owner'>, turn: Turn): Generator<HeldAt> {
  for (const path of paths) {
    for (const claim of turn.table.index.overlapping(path, owner)) yield { path, claim }
  }
}

/** Paths of others that wait and overlap, path by path, whoever came first. */
function* waitsInTheWay(asker: Asker, turn: Turn): Generator<WaitedAt> {
  for (const path of asker.paths) {
    if (isRefresh(asker, path, turn)) continue
    for (const waited of turn.queue.index.overlapping(path, asker.owner)) yield { path, waited }
  }
}

/** Whether anything stands in the way of who asks and does not wait. */
export function isBlockedAtOnce(owner: string, paths: readonly ClaimPath[], turn: Turn): boolean {
  const { table, queue } = turn
  return paths.some(
    (path) =>
      table.index.hasOthers(path, owner) ||
      (!isRefresh({ owner, order: AT_ONCE }, path, turn) && queue.index.hasOthers(path, owner)),
  )
}

/** Whether anything stands in the way of a wait. */
export function isBlocked({ owner, paths, behind }: Waiter, { table }: Turn): boolean {
  return behind.size > 0 || paths.some((path) => table.index.hasOthers(path, owner))
}

/**
 * Who refreshes what it holds overtakes nobody: whoever waits for it waits for this very claim. That is so at once
 * only. A wait may lose its claim before its turn comes, and would then stand behind those that it was let pass.
 */
function isRefresh(
  { owner, order }: Pick<Asker, 'owner' | 'order'>,
  path: ClaimPath,
  { table, nowMs }: Turn,
): boolean {
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

/** What stands in the way: all of it for the owner of a book, the first of each kind for others. */
export interface BlockerViews {
  readonly conflicts: readonly Conflict[]
  /** How many more there are, as far as they were counted. */
  readonly conflictsLeftOff: number
  readonly ahead: readonly Ahead[]
  readonly aheadLeftOff: number
}

/** For an answer that goes out. `asker` null: nothing to name. */
export function viewBlockers(asker: Asker | null, turn: Turn): BlockerViews {
  const { nowMs, naming } = turn
  if (asker === null) return { conflicts: [], conflictsLeftOff: 0, ahead: [], aheadLeftOff: 0 }
  const claims = firstOf(claimsInTheWay(asker, turn), () => true, naming)
  const before = ({ waited }: WaitedAt): boolean => waited.waiter.order < asker.order
  const waits = firstOf(waitsInTheWay(asker, turn), before, naming)
  return {
    conflicts: claims.first.map(({ path, claim }) => conflictOf(path, claim, nowMs)),
    conflictsLeftOff: claims.leftOff,
    ahead: waits.first.map(({ path, waited }) => aheadOf(path, waited, nowMs)),
    aheadLeftOff: waits.leftOff,
  }
}

function firstOf<T>(all: Iterable<T>, counts: (one: T) => boolean, { most, lookedAtMost }: Naming) {
  const first: T[] = []
  let leftOff = 0
  let lookedAt = 0
  for (const one of all) {
    if (++lookedAt > lookedAtMost) break
    if (!counts(one)) continue
    if (first.length < most) first.push(one)
    else leftOff++
  }
  return { first, leftOff }
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

/** When a wait may be free by itself: its own end, or the earliest end of the first of its blockers. */
export function nextChangeMs(waiter: Waiter, turn: Turn): number {
  let earliest = waiter.untilMs
  let lookedAt = 0
  for (const endMs of endsInTheWay(waiter, turn)) {
    if (endMs < earliest) earliest = endMs
    if (++lookedAt === LOOKED_AT_FOR_TIME) break
  }
  return earliest
}

function* endsInTheWay(waiter: Waiter, turn: Turn): Generator<number> {
  for (const { claim } of claimsInTheWay(waiter, turn)) yield endsAtMs(claim)
  for (const { untilMs } of waiter.behind) yield untilMs
}
