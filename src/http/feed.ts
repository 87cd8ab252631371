import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Status, Transition } from '../election/status.ts'
import type { ElectionHandle } from './elections.ts'
import { Problem } from './problem.ts'

/** Somebody who waits for news. */
export interface Reader {
  tell(transition: Transition, status: Status): void
  /** The server stops: finish now. */
  end(): void
}

/** Passes the transitions of one election on to its readers. What befalls one reader is not told to the others. */
export class Feed {
  readonly #readers = new Set<Reader>()
  readonly #onFault: (error: unknown) => void
  readonly #unsubscribe: () => void

  constructor(election: Pick<ElectionHandle, 'onTransition'>, onFault: (error: unknown) => void) {
    this.#onFault = onFault
    this.#unsubscribe = election.onTransition((transition, status) => {
      this.#each((reader) => reader.tell(transition, status))
    })
  }

  /** Adds a reader; returns what removes it. */
  add(reader: Reader): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  close(): void {
    this.#unsubscribe()
    this.#each((reader) => reader.end())
  }

  /** Over a copy: a reader leaves while it is being told. An exception must not reach the election. */
  #each(act: (reader: Reader) => void): void {
    for (const reader of [...this.#readers]) {
      try {
        if (this.#readers.has(reader)) act(reader)
      } catch (error) {
        this.#readers.delete(reader)
        this.#onFault(error)
      }
    }
  }
}

/** The places for those who wait: their number is bounded over all elections, and counted for each. */
export class Seats {
  readonly #most: number
  readonly #what: string
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor(most: number, what: string) {
    this.#most = most
    this.#what = what
  }

  taken(election: string): number {
    return this.#taken.get(election) ?? 0
  }

  /**
   * Takes a seat; returns what gives it back.
   * @throws Problem 503 when all are taken.
   */
  take(election: string): () => void {
    if (this.#total >= this.#most) {
      throw new Problem(
        503,
        'too_many_readers',
        `${this.#total} ${this.#what} are open, and no more than ${this.#most} may be: close some, or ask /v1/leadership plainly`,
        { headers: { 'Retry-After': '1' } },
      )
    }
    this.#count(election, 1)
    let held = true
    return () => {
      if (held) this.#count(election, -1)
      held = false
    }
  }

  #count(election: string, change: number): void {
    this.#total += change
    this.#taken.set(election, this.taken(election) + change)
  }
}

export function isGone(request: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || request.socket.destroyed
}

/** Calls `act` when the caller has gone or the answer is finished; returns what ends that. */
export function whenGone(response: ServerResponse, act: () => void): () => void {
  response.once('close', act)
  return () => response.off('close', act)
}
