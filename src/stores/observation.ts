import { type Clock, type Instant, shortestElapsedMs } from '../clock/clock.ts'

/**
 * Somebody else's expiry where no shared clock tells it: a record that was seen unchanged for one whole ttl has
 * no live holder. Counted from after the reply that first showed it, by the clock that has run least.
 */
export class Observation {
  readonly #clock: Clock
  #mark: string | null = null
  #since: Instant | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Takes note of the record just received, told by a mark that changes with every write of a holder.
   * Returns the milliseconds for which this mark has now been seen, 0 when it is new.
   */
  see(mark: string): number {
    const now = this.#clock.now()
    if (this.#mark !== mark || this.#since === null) {
      this.#mark = mark
      this.#since = now
      return 0
    }
    return shortestElapsedMs(this.#since, now)
  }

  /** The mark that was seen last, null before the first. */
  get mark(): string | null {
    return this.#mark
  }

  /** Milliseconds since the present mark was first seen; 0 when there is none. */
  get unchangedMs(): number {
    return this.#since === null ? 0 : shortestElapsedMs(this.#since, this.#clock.now())
  }
}
