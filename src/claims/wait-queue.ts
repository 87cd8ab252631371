import { DueQueue } from './due-queue.ts'
import type { ClaimPath } from './path.ts'
import { PathIndex, type Placed } from './path-index.ts'

/** How a wait ended without a grant. */
export type WaitEnd = 'timeout' | 'cancelled'

/** Names a wait to its book. Nothing can be read from it. */
export interface Ticket {
  readonly ticket: number
}

/** Somebody who waits for paths. Who came earlier has the lower order. */
export interface Waiter {
  readonly ticket: Ticket
  readonly owner: string
  readonly holder: string
  readonly paths: readonly ClaimPath[]
  readonly ttlMs: number
  /** May wait while it holds something. */
  readonly mayHold: boolean
  readonly sinceMs: number
  /** The wait is over at this point. */
  readonly untilMs: number
  readonly order: number
  /** Those of others that came earlier, overlap and still wait: kept, as it is asked for at each change. */
  readonly behind: Set<Waiter>
  ended: WaitEnd | 'granted' | null
  /** Resolved when it is worth to try again. */
  changed: PromiseWithResolvers<void>
}

/** One path that a waiter waits for. */
export interface WaitedPath extends Placed {
  readonly waiter: Waiter
}

type Newcomer = Pick<Waiter, 'owner' | 'holder' | 'paths' | 'ttlMs' | 'mayHold' | 'untilMs' | 'behind'>

/** Who waits, first come first served. */
export class WaitQueue {
  readonly index = new PathIndex<WaitedPath>()
  readonly #waiters = new Map<Waiter, readonly WaitedPath[]>()
  readonly #tickets = new WeakMap<Ticket, Waiter>()
  readonly #due = new DueQueue<Waiter>()
  #order = 0

  get size(): number {
    return this.#waiters.size
  }

  /** The earliest first. */
  all(): IterableIterator<Waiter> {
    return this.#waiters.keys()
  }

  of(owner: string): readonly Waiter[] {
    return [...this.#waiters.keys()].filter((waiter) => waiter.owner === owner)
  }

  /** The waiter of a ticket, also when it waits no more; undefined for a ticket of another book. */
  find(ticket: Ticket): Waiter | undefined {
    return this.#tickets.get(ticket)
  }

  /** Those of others that wait for anything that overlaps: whom a newcomer would wait behind. */
  overlapping(owner: string, paths: readonly ClaimPath[]): Set<Waiter> {
    return this.#at(paths, owner)
  }

  /** Everybody who waits for anything that overlaps. */
  near(paths: readonly ClaimPath[]): Set<Waiter> {
    return this.#at(paths, null)
  }

  #at(paths: readonly ClaimPath[], owner: string | null): Set<Waiter> {
    const found = new Set<Waiter>()
    for (const path of paths) {
      for (const { waiter } of this.index.overlapping(path, owner)) {
        found.add(waiter)
        if (found.size === this.size) return found
      }
    }
    return found
  }

  /** `behind` is what `overlapping` answers for the newcomer now. */
  add(newcomer: Newcomer, nowMs: number): Waiter {
    const order = ++this.#order
    const ticket = Object.freeze({ ticket: order })
    const changed = Promise.withResolvers<void>()
    const waiter: Waiter = { ...newcomer, ticket, order, sinceMs: nowMs, ended: null, changed }
    const waited = waiter.paths.map((path) => ({ path, owner: waiter.owner, waiter }))
    for (const one of waited) this.index.add(one)
    this.#waiters.set(waiter, waited)
    this.#tickets.set(ticket, waiter)
    this.#due.add(waiter.untilMs, waiter)
    return waiter
  }

  remove(waiter: Waiter, how: WaitEnd | 'granted'): void {
    for (const one of this.#waiters.get(waiter) ?? []) this.index.remove(one)
    this.#waiters.delete(waiter)
    for (const later of this.#waiters.keys()) later.behind.delete(waiter)
    waiter.ended = how
    this.#due.sweep(this.#waiters.size, (one) => this.#waiters.has(one))
  }

  /** Removes those whose bound has come; returns them. */
  reap(nowMs: number): readonly Waiter[] {
    const out: Waiter[] = []
    for (let waiter = this.#due.take(nowMs); waiter !== undefined; waiter = this.#due.take(nowMs)) {
      if (!this.#waiters.has(waiter)) continue
      this.remove(waiter, 'timeout')
      out.push(waiter)
    }
    return out
  }
}
