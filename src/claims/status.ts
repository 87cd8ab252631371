import { ownerOf } from './attempt.ts'
import { blockersOf } from './blockers.ts'
import { type ClaimView, gone, left, viewOf } from './claim.ts'
import type { Turn } from './turn.ts'

/** Everything in the book, from one instant. A copy. */
export interface BookStatus {
  readonly workspace: string
  readonly epoch: string
  /** By the wall clock, as are all times here: for people. */
  readonly at: string
  readonly claims: readonly (ClaimView & { readonly acquiredAt: string; readonly expiresAt: string })[]
  /** The earliest first. */
  readonly waits: readonly {
    readonly holder: string
    readonly paths: readonly string[]
    readonly waitingForMs: number
    readonly endsInMs: number
    /** Labels of those whom the wait is for, each once. */
    readonly waitsFor: readonly string[]
  }[]
  readonly pins: readonly {
    readonly path: string
    readonly holder: string
    readonly claimGeneration: number
    readonly pinnedForMs: number
    /** Null: until the unpin. */
    readonly endsInMs: number | null
  }[]
}

/** `dateMs` is the wall clock at the instant of the turn. */
export function statusOf(turn: Turn, dateMs: number): BookStatus {
  const { nowMs, workspace, epoch, table, queue, pins } = turn
  const iso = (ms: number): string => new Date(dateMs + ms - nowMs).toISOString()
  const claims = [...table.all()].map((claim) => ({
    ...viewOf(claim, nowMs),
    acquiredAt: iso(claim.heldSinceMs),
    expiresAt: iso(claim.expiresAtMs),
  }))
  const waits = [...queue.all()].map((waiter) => ({
    holder: waiter.holder,
    paths: waiter.paths.map(({ text }) => text),
    waitingForMs: gone(nowMs - waiter.sinceMs),
    endsInMs: left(waiter.untilMs - nowMs),
    waitsFor: labels([...blockersOf(waiter, turn)].map(ownerOf)),
  }))
  const pinned = [...pins.all()].map(({ claim, sinceMs, untilMs }) => ({
    path: claim.path.text,
    holder: claim.holder,
    claimGeneration: claim.claimGeneration,
    pinnedForMs: gone(nowMs - sinceMs),
    endsInMs: untilMs === null ? null : left(untilMs - nowMs),
  }))
  return { workspace, epoch, at: iso(nowMs), claims, waits, pins: pinned }
}

/** Owners are told apart by more than their label: each is named once. */
function labels(owners: readonly { readonly owner: string; readonly holder: string }[]): readonly string[] {
  return [...new Map(owners.map(({ owner, holder }) => [owner, holder])).values()]
}
