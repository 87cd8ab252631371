import { type Clock, type Instant, remainingMs } from '../clock/clock.ts'
import type { Fence } from '../fencing/fence.ts'
import type { Validity } from './held.ts'

/** That the sidecar said "leading": a tenure, and the point up to which it may be relied on. */
export interface Promised {
  readonly fence: Fence
  readonly sentAt: Instant
  readonly until: Instant
}

export function sameTenure(a: Fence, b: Fence): boolean {
  return a.election === b.election && a.session === b.session && a.generation === b.generation
}

/** The validity of one tenure: each later answer for the same tenure extends it, and what ended never returns. */
export class Live implements Validity {
  readonly fence: Fence
  readonly #clock: Clock
  readonly #isGivenUp: (fence: Fence) => boolean
  #sentAt: Instant
  #until: Instant
  #ended = false

  constructor(promised: Promised, clock: Clock, isGivenUp: (fence: Fence) => boolean) {
    this.fence = promised.fence
    this.#sentAt = promised.sentAt
    this.#until = promised.until
    this.#clock = clock
    this.#isGivenUp = isGivenUp
  }

  get validForMs(): number {
    if (this.#ended || this.#isGivenUp(this.fence)) return 0
    return Math.max(0, Math.floor(remainingMs(this.#until, this.#clock.now())))
  }

  /**
   * Takes a further answer for this tenure. False when it cannot extend it: the question left after the validity
   * had run out, and whoever relied on it has been told so. An answer to an older question is passed over.
   */
  extend(promised: Promised): boolean {
    if (this.#ended || remainingMs(this.#until, promised.sentAt) <= 0) return false
    if (promised.sentAt.steadyMs >= this.#sentAt.steadyMs) {
      this.#sentAt = promised.sentAt
      this.#until = promised.until
    }
    return true
  }

  end(): void {
    this.#ended = true
  }
}
