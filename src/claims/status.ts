import { type ClaimView, gone, left, viewOf } from './claim.ts'
import type { Turn } from './turn.ts'
import type { Waiter } from './wait-queue.ts'

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
    /** Whether it is for more of them than are named. */
    readonly waitsForMore: boolean
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
    ...waitsForOf(waiter, turn),
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
function waitsForOf(waiter: Waiter, turn: Turn) {
  const labels = new Map<string, string>()
  for (const { owner, holder } of ownersInTheWay(waiter, turn)) {
    if (labels.size === turn.naming.most && !labels.has(owner)) {
      return { waitsFor: [...labels.values()], waitsForMore: true }
    }
    labels.set(owner, holder)
  }
  return { waitsFor: [...labels.values()], waitsForMore: false }
}

function* ownersInTheWay(waiter: Waiter, { table }: Turn): Generator<Pick<Waiter, 'owner' | 'holder'>> {
  for (const path of waiter.paths) {
    for (const owner of table.index.ownersAt(path)) {
      const holder = table.labelOf(owner)
      if (owner !== waiter.owner && holder !== undefined) yield { owner, holder }
    }
  }
  yield* waiter.behind
}
