/** What an acquire tells for the history. */

/** The tenure that an acquire found in the record. Times: the store's clock, milliseconds since 1970. */
export interface Predecessor {
  readonly generation: number
  /** Label of its holder; null where it had given the lease up. */
  readonly holder: string | null
  readonly fromMs: number
  readonly untilMs: number
  /** How the lease became free; `unknown` where it was taken over by its own session, or its time could not be told. */
  readonly ended: 'released' | 'expired' | 'unknown'
}

/** When a tenure began, and what the record had told of the one before; null where it told of none. */
export interface Begun {
  /** On the store's clock, milliseconds since 1970. */
  readonly fromMs: number
  readonly before: Predecessor | null
}
