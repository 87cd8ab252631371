/** The claim book for agents that nobody vouches for: what is theirs, they prove by a token. */
import type { Clock } from '../clock/clock.ts'
import { acquire, type Granted, type Refused, type Request, refuse } from './acquire.ts'
import { endWait, firstAttempt, type NotWaited, nextAttempt, type Outcome, type Place } from './attempt.ts'
import type { BlockerViews } from './blockers.ts'
import { type Covering, covering, coveringLabel } from './covering.ts'
import { Ledger } from './ledger.ts'
import { NAMES_SOME } from './limits.ts'
import { type Pinned, pin, type Unpinned, unpin } from './pinning.ts'
import { type Released, release, releaseAll } from './release.ts'
import { type BookStatus, statusOf } from './status.ts'
import type { Turn } from './turn.ts'
import type { Ticket } from './wait-queue.ts'
import { within } from './within.ts'

/** Whether there may be a book now. Another `tenure` is another book, which begins empty. */
export type Standing =
  | { readonly valid: true; readonly tenure: string }
  | { readonly valid: false; readonly why: string }

export interface ClaimDeskOptions {
  readonly workspace: string
  /** In one book. */
  readonly claimsMost: number
  readonly clock: Clock
  /** Judged inside each operation, never remembered. */
  readonly standing: () => Standing
}

export interface DeskRequest {
  /** A label, for others to read. It proves nothing. */
  readonly holder: string
  readonly paths: readonly string[]
  readonly ttlMs: number
  readonly token: null
}

/** Who shows the token of an earlier grant keeps the label of that grant. */
export interface OwnerRequest extends Omit<DeskRequest, 'holder' | 'token'> {
  /** The same label as before, or null. */
  readonly holder: string | null
  readonly token: string
}

/** There is no book now, and why. Nothing was changed. */
export interface Void {
  readonly void: string
}

/** The token proves nothing any more: what it proved is over. */
export interface Lost extends BlockerViews {
  readonly granted: false
  readonly epoch: string
  readonly reason: 'lost'
}

/** The token proves claims under another label, and an owner has one. Nothing was changed. */
export interface OtherHolder extends BlockerViews {
  readonly granted: false
  readonly epoch: string
  readonly reason: 'other_holder'
}

/** Seen by whom, beside the verdict. */
export interface DeskCovering extends Covering {
  /** Whether the token that was shown proves anything; null when none was shown. */
  readonly tokenProves: boolean | null
}

/** The token proves the claims, and whatever else it is shown to acquire, until the last of them is over. */
export type GrantedByToken = Granted & { readonly token: string }

export type DeskAnswer = GrantedByToken | Refused | NotWaited | Lost | OtherHolder | Void

interface Open {
  readonly tenure: string
  readonly ledger: Ledger
}

export class ClaimDesk {
  readonly #options: ClaimDeskOptions
  #open: Open | null = null

  constructor(options: ClaimDeskOptions) {
    this.#options = options
  }

  acquire(request: DeskRequest | OwnerRequest): GrantedByToken | Refused | Lost | OtherHolder | Void {
    return this.#enter((_open, turn) => {
      const token = request.token ?? turn.uuid()
      const asked = ownedBy(token, request, turn)
      return 'reason' in asked ? asked : withToken(acquire(asked, turn), token)
    })
  }

  /** As `acquire`, and waits for at most `waitMs`; who holds anything may not. An abort ends the wait. */
  acquireWithin(
    request: DeskRequest | OwnerRequest,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<DeskAnswer> {
    let home: Open | null = null
    const token = request.token ?? this.#options.clock.uuid()
    const again = (ticket: Ticket, giveUp: boolean) =>
      this.#enter((open, turn) => {
        if (open !== home) return NEW_BOOK
        const waiter = turn.queue.find(ticket)
        if (waiter === undefined) throw new Error('BUG: a ticket of another book')
        if (giveUp) endWait(waiter, turn)
        return withToken(nextAttempt(waiter, turn), token)
      })
    const attempts = {
      first: () =>
        this.#enter((open, turn) => {
          const asked = ownedBy(token, request, turn)
          if ('reason' in asked) return asked
          home = open
          return withToken(firstAttempt({ ...asked, waitMs, mayHold: false }, turn), token)
        }),
      next: (ticket: Ticket) => again(ticket, false),
      giveUp: (ticket: Ticket) => again(ticket, true),
    }
    return within<DeskAnswer | Place>(attempts, this.#options.clock, signal)
  }

  /** Releases what the token proves: its claims on exactly these paths; null: all. */
  release(token: string, paths: readonly string[] | null): Released | Lost | Void {
    return this.#enter((_open, turn) => (proves(token, turn) ? release(token, paths, turn) : lost(turn)))
  }

  /** Seen by the owner that a token proves, by whoever bears a label, or by nobody. */
  covering(asker: { readonly token?: string; readonly holder?: string }, path: string): DeskCovering | Void {
    const { token, holder } = asker
    return this.#enter((_open, turn) => {
      if (token !== undefined) return { ...covering(token, path, turn), tokenProves: proves(token, turn) }
      const seen = holder === undefined ? covering(null, path, turn) : coveringLabel(holder, path, turn)
      return { ...seen, tokenProves: null }
    })
  }

  pin(token: string, path: string, forMs: number): Pinned | Lost | Void {
    return this.#enter((_open, turn) => (proves(token, turn) ? pin(token, path, forMs, turn) : lost(turn)))
  }

  unpin(pin: string): Unpinned | Void {
    return this.#enter((_open, turn) => unpin(pin, turn))
  }

  status(): BookStatus | Void {
    return this.#enter((_open, turn) => statusOf(turn, this.#options.clock.date()))
  }

  /** Voids the book if it is to be void by now, so that those who wait hear of it. Nothing depends on this call. */
  judge(): void {
    this.#enter(() => null)
  }

  #enter<R>(act: (open: Open, turn: Turn) => R): R | Void {
    const standing = this.#options.standing()
    const tenure = standing.valid ? standing.tenure : null
    if (this.#open !== null && this.#open.tenure !== tenure) this.#void(this.#open)
    if (!standing.valid) return { void: standing.why }
    this.#open ??= this.#begin(standing.tenure)
    const open = this.#open
    return open.ledger.turn((turn) => act(open, turn))
  }

  #begin(tenure: string): Open {
    const { workspace, claimsMost, clock } = this.#options
    const ledger = new Ledger({ workspace, claimsMost, naming: NAMES_SOME, clock, ignoreCase: false })
    return { tenure, ledger }
  }

  /** Nobody reaches the book from here on. Its waits end: each asks again, and meets another book or none. */
  #void({ ledger }: Open): void {
    this.#open = null
    ledger.turn(releaseAll)
  }
}

const NEW_BOOK: Void = { void: 'another tenure began during the wait, with a new and empty book; ask again' }

/** The token is the owner: fresh for each newcomer, so that no label reaches the claims of another. */
function ownedBy(
  owner: string,
  { token, holder, paths, ttlMs }: DeskRequest | OwnerRequest,
  turn: Turn,
): Request | Lost | OtherHolder {
  if (token === null) return { owner, holder, paths, ttlMs }
  const label = turn.table.labelOf(token)
  if (label === undefined) return lost(turn)
  if (holder !== null && holder !== label) return refuse('other_holder', null, turn)
  return { owner, holder: label, paths, ttlMs }
}

/**
 * A token is good as long as anything is alive of what it proves, and never again: a call that comes late with it
 * cannot touch what was acquired anew.
 */
function proves(token: string, { table }: Turn): boolean {
  return table.holdsAny(token)
}

function lost(turn: Turn): Lost {
  return refuse('lost', null, turn)
}

function withToken<A extends Outcome>(answer: A, token: string) {
  return answer.granted ? { ...answer, token } : (answer as Exclude<A, Granted>)
}
