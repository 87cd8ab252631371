/** The claim book as a library: for whoever owns the agents, and names them. */
import type { Clock } from '../clock/clock.ts'
import { sharedClock } from '../clock/system-clock.ts'
import { acquire, type Granted, type Refused } from './acquire.ts'
import {
  type Attempt,
  endWait,
  firstAttempt,
  type NotWaited,
  named,
  nextAttempt,
  type Outcome,
} from './attempt.ts'
import { type Covering, covering } from './covering.ts'
import { Ledger } from './ledger.ts'
import { CLAIMS_MOST, checkDuration, checkLabel, checkPaths, DEFAULT_TTL_MS, NAMES_ALL } from './limits.ts'
import { type Pinned, pin, type Unpinned, unpin } from './pinning.ts'
import { type Released, release, releaseAll, releaseOwners } from './release.ts'
import { type BookStatus, statusOf } from './status.ts'
import type { Turn } from './turn.ts'
import type { Ticket, Waiter } from './wait-queue.ts'
import { within } from './within.ts'

export interface ClaimBookOptions {
  /** A label of what the paths are in, for people. */
  readonly workspace: string
  /** In milliseconds; 300,000 when not given. */
  readonly defaultTtlMs?: number
  /** For workspaces on a file system that takes `A` and `a` for one name. Default: false. */
  readonly ignoreCase?: boolean
  readonly clock?: Clock
}

export interface AcquireRequest {
  /** A label that the owner of the book gave: who says it is believed. */
  readonly holder: string
  /** All are granted, or none. A directory covers all below it. */
  readonly paths: readonly string[]
  readonly ttlMs?: number
}

export interface WaitingRequest extends AcquireRequest {
  /** The longest to wait, in milliseconds. */
  readonly waitMs: number
}

/**
 * A table of claims in one process. A claim is a path that one holder has to itself for a while.
 *
 * Contention is a value: a refusal names everything in the way. A request that no program means (no paths, a ttl of
 * −1) throws a `RangeError`. What is returned are copies: nothing that a reader does to them reaches the book.
 */
export class ClaimBook {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #defaultTtlMs: number

  /** @throws RangeError for a workspace that is no label, or a ttl that is no duration. */
  constructor(options: ClaimBookOptions) {
    const { workspace, defaultTtlMs = DEFAULT_TTL_MS, ignoreCase = false, clock = sharedClock() } = options
    checkLabel('workspace', workspace)
    checkDuration('defaultTtlMs', defaultTtlMs, 1)
    this.#clock = clock
    this.#defaultTtlMs = defaultTtlMs
    this.#ledger = new Ledger({ workspace, ignoreCase, claimsMost: CLAIMS_MOST, naming: NAMES_ALL, clock })
  }

  /** Random, in every answer too: another epoch is another book, and nothing of this one is in it. */
  get epoch(): string {
    return this.#ledger.epoch
  }

  /** Grants all paths or none. The holder's own claims are no obstacle; one on the same path is refreshed. */
  acquire(request: AcquireRequest): Granted | Refused {
    const asked = this.#read(request)
    return this.#ledger.turn((turn) => acquire(asked, turn))
  }

  /**
   * Grants, or takes a place in the queue for `waitMs`, first come first served. Never sleeps: whoever got a ticket
   * tries again with `attemptAgain` when `changed` resolves, or after `nextInMs`.
   */
  waitAttempt(request: WaitingRequest): Attempt {
    const asked = this.#readWait(request, true)
    return this.#ledger.turn((turn) => named(firstAttempt(asked, turn), turn))
  }

  /** @throws RangeError for a ticket of another book. */
  attemptAgain(ticket: Ticket): Attempt {
    return this.#ledger.turn((turn) => named(nextAttempt(waiterOf(ticket, turn), turn), turn))
  }

  /**
   * Gives a place in the queue up; false when the wait had ended.
   * @throws RangeError for a ticket of another book.
   */
  endWait(ticket: Ticket): boolean {
    return this.#ledger.turn((turn) => endWait(waiterOf(ticket, turn), turn))
  }

  /**
   * Waits for at most `waitMs`. Refuses to wait while the holder holds anything: two that did could wait for each
   * other. An abort of `signal` ends the wait as `cancelled`.
   */
  async acquireWithin(
    request: WaitingRequest & { readonly signal?: AbortSignal },
  ): Promise<Granted | Refused | NotWaited> {
    const asked = this.#readWait(request, false)
    const next = (ticket: Ticket): Outcome =>
      this.#ledger.turn((turn) => nextAttempt(waiterOf(ticket, turn), turn))
    const attempts = {
      first: (): Outcome => this.#ledger.turn((turn) => firstAttempt(asked, turn)),
      next,
      giveUp: (ticket: Ticket): Outcome => {
        this.endWait(ticket)
        return next(ticket)
      },
    }
    return within(attempts, this.#clock, request.signal)
  }

  /** Whose the path is, seen by a holder. Only `own` allows to write. */
  covering(holder: string, path: string): Covering {
    return this.#ledger.turn((turn) => covering(holder, path, turn))
  }

  /** Releases the holder's claims on exactly these paths, or all of them. Those that are pinned end at the unpin. */
  release(holder: string, paths?: readonly string[]): Released {
    const named = paths === undefined ? null : [...paths]
    return this.#ledger.turn((turn) => release(holder, named, turn))
  }

  /** The holder is gone: releases its claims and ends its waits. */
  releaseHolder(holder: string): Released {
    return this.#ledger.turn((turn) => releaseOwners([holder], turn))
  }

  /** Releases every claim and ends every wait. */
  releaseAll(): Released {
    return this.#ledger.turn(releaseAll)
  }

  /**
   * Keeps the holder's claim closest above the path alive until `unpin`, or for `forMs`. Its expiry or its release
   * takes effect then. A refresh meanwhile is a new claim generation, which this pin does not keep.
   */
  pin(holder: string, path: string, options: { readonly forMs?: number } = {}): Pinned {
    const { forMs } = options
    if (forMs !== undefined) checkDuration('forMs', forMs, 1)
    return this.#ledger.turn((turn) => pin(holder, path, forMs ?? null, turn))
  }

  /** Takes the `pin` that `pin` answered. Another one changes nothing. */
  unpin(pin: string): Unpinned {
    return this.#ledger.turn((turn) => unpin(pin, turn))
  }

  /** Claims, waits and pins, from one instant. */
  status(): BookStatus {
    return this.#ledger.turn((turn) => statusOf(turn, this.#clock.date()))
  }

  #read({ holder, paths, ttlMs = this.#defaultTtlMs }: AcquireRequest) {
    checkLabel('holder', holder)
    checkPaths(paths)
    checkDuration('ttlMs', ttlMs, 1)
    return { owner: holder, holder, paths: [...paths], ttlMs }
  }

  #readWait(request: WaitingRequest, mayHold: boolean) {
    checkDuration('waitMs', request.waitMs, 0)
    return { ...this.#read(request), waitMs: request.waitMs, mayHold }
  }
}

function waiterOf(ticket: Ticket, { queue }: Turn): Waiter {
  const waiter = queue.find(ticket)
  if (waiter !== undefined) return waiter
  throw new RangeError('ticket: this book did not give it out; use the one of its waitAttempt')
}
