/** One operation on the book: everything that it reads and changes, at one instant. */
import type { ClaimTable } from './claim-table.ts'
import type { ClaimPath, PathRules } from './path.ts'
import type { Pins } from './pins.ts'
import type { Waiter, WaitQueue } from './wait-queue.ts'

/** How much an answer names of what stands in the way. Without a bound a short question has an answer of megabytes. */
export interface Naming {
  /** Of each kind. */
  readonly most: number
  /** How many are looked at to count those that are not named. */
  readonly lookedAtMost: number
}

/** What a book consists of. */
export interface State {
  readonly workspace: string
  /** Random; tells that a restart lost the book. */
  readonly epoch: string
  readonly rules: PathRules
  readonly claimsMost: number
  readonly naming: Naming
  readonly table: ClaimTable
  readonly queue: WaitQueue
  readonly pins: Pins
  /** A fresh random UUID. */
  readonly uuid: () => string
}

export interface Turn extends State {
  /** The clock, read once. */
  readonly nowMs: number
  /** Where something has gone that others may wait for. */
  readonly freed: ClaimPath[]
  /** Who has to look again, whatever was freed. */
  readonly stirred: Set<Waiter>
}

/** First of all: what is over by now ends. Pins before claims, as a pin that is over keeps nothing alive. */
export function reap(turn: Turn): void {
  const { nowMs, table, queue, pins } = turn
  for (const claim of pins.reap(nowMs)) if (table.settle(claim, nowMs)) turn.freed.push(claim.path)
  for (const claim of table.reap(nowMs)) turn.freed.push(claim.path)
  for (const waiter of queue.reap(nowMs)) left(turn, waiter)
}

/** A waiter has gone: it has to hear of it, and those behind it may be free to go. */
export function left(turn: Turn, waiter: Waiter): void {
  turn.stirred.add(waiter)
  turn.freed.push(...waiter.paths)
}
