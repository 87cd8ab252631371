/** A book whose claims belong to owners, whatever proves those. Each operation is one turn. */
import type { Clock } from '../clock/clock.ts'
import { type Asker, isBlocked } from './blockers.ts'
import { ClaimTable } from './claim-table.ts'
import { Pins } from './pins.ts'
import { reap, type State, type Turn } from './turn.ts'
import { type Waiter, WaitQueue } from './wait-queue.ts'

export interface LedgerOptions {
  readonly workspace: string
  readonly ignoreCase: boolean
  readonly claimsMost: number
  readonly clock: Clock
}

export class Ledger {
  readonly #clock: Clock
  readonly #state: State
  #lastMs = Number.NEGATIVE_INFINITY

  constructor({ workspace, ignoreCase, claimsMost, clock }: LedgerOptions) {
    this.#clock = clock
    this.#state = {
      workspace,
      epoch: clock.uuid(),
      rules: { ignoreCase },
      claimsMost,
      table: new ClaimTable(),
      queue: new WaitQueue(),
      pins: new Pins(),
      uuid: () => clock.uuid(),
    }
  }

  get epoch(): string {
    return this.#state.epoch
  }

  /**
   * One operation: reads the clock, reaps, acts, and tells those who wait, in this order. Promises that resolve
   * here run nobody's code before the operation has returned.
   */
  turn<R>(act: (turn: Turn) => R): R {
    const turn: Turn = { ...this.#state, nowMs: this.#readMs(), freed: [], stirred: new Set() }
    reap(turn)
    const result = act(turn)
    for (const waiter of toTell(turn)) tell(waiter)
    return result
  }

  /**
   * The one clock of the book, in milliseconds: it counts time that the machine was suspended. Whoever slept
   * through the end of its claim has lost it.
   */
  #readMs(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#clock.now().bootMs)
    return this.#lastMs
  }
}

/** Those who are free to go by what this turn freed, and those who have to look again anyway. */
function toTell(turn: Turn): ReadonlySet<Waiter> {
  const { freed, stirred, queue } = turn
  if (queue.size === 0) return stirred
  const near = new Set<Waiter>()
  for (const path of freed) for (const { waiter } of queue.index.overlapping(path, null)) near.add(waiter)
  for (const waiter of near) if (!isBlocked(waiter satisfies Asker, turn)) stirred.add(waiter)
  return stirred
}

function tell(waiter: Waiter): void {
  waiter.changed.resolve()
  if (waiter.ended === null) waiter.changed = Promise.withResolvers()
}
