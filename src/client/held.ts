import { type Fence, fenceSetting } from '../fencing/fence.ts'

/** How long something may still be relied on. Asked anew each time. */
export interface Validity {
  /** Whole milliseconds, 0 when over. */
  readonly validForMs: number
}

/**
 * A tenure that this instance was told to hold. Whether it may still act is computed from the clocks at each look:
 * after a pause the first look is right, although no timer has fired yet.
 */
export class HeldTenure implements Fence {
  readonly election: string
  readonly session: string
  readonly generation: number
  readonly #validity: Validity

  constructor({ election, session, generation }: Fence, validity: Validity) {
    this.election = election
    this.session = session
    this.generation = generation
    this.#validity = validity
  }

  /** Milliseconds for which this instance may still act, counted from before the question was sent; 0 when over. */
  get validForMs(): number {
    return this.#validity.validForMs
  }

  /** Whether this instance may act now. Look again after every wait. */
  isValid(): boolean {
    return this.#validity.validForMs > 0
  }

  /** `SESSION/GENERATION`: what a guarded table takes as the setting `tenure.fence` of a transaction. */
  get fence(): string {
    return fenceSetting(this)
  }
}
