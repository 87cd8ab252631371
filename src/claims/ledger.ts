/** A book whose claims belong to owners, whatever proves those. Each operation is one turn. */
import type { Clock } from '../clock/clock.ts'
import { isBlocked } from './blockers.ts'
import { ClaimTable } from './claim-table.ts'
import { Pins } from './pins.ts'
import { type Naming, reap, type State, type Turn } from './turn.ts'
import { type Waiter, WaitQueue } from './wait-queue.ts'

/** Beyond so many freed paths it is cheaper to look at everybody who waits than at who waits for which. */
const FREED_FEW = 16

export interface LedgerOptions {
  readonly workspace: string
  readonly ignoreCase: boolean
  readonly claimsMost: number
  readonly naming: Naming
  readonly clock: Clock
}

export class Ledger {
  readonly #clock: Clock
  readonly #state: State
  #lastMs = Number.NEGATIVE_INFINITY

  constructor({ workspace, ignoreCase, claimsMost, naming, clock }: LedgerOptions) {
    this.#clock = clock
    this.#state = {
      workspace,
      epoch: clock.uuid(),
      rules: { ignoreCase },
      claimsMost,
      naming,
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
  const near = freed.length > FREED_FEW ? queue.all() : queue.near(freed)
  for (const waiter of near) if (!isBlocked(waiter, turn)) stirred.add(waiter)
  return stirred
}

function tell(waiter: Waiter): void {
  waiter.changed.resolve()
  if (waiter.ended === null) waiter.changed = Promise.withResolvers()
}
