/**
 * What went wrong with a store.
 * - `unavailable`: out of reach, overloaded or cut off; the outcome of the request is unknown. Retry.
 * - `denied`: rights are missing, or the store is read-only.
 * - `schema`: the tables are missing, or newer than this code can read.
 * - `misconfigured`: the settings cannot work as they are.
 */
export type StoreErrorKind = 'unavailable' | 'denied' | 'schema' | 'misconfigured'

/** A fault of a store. The message says what to do about it; the cause is always kept. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind

  constructor(kind: StoreErrorKind, message: string, options: { cause: unknown }) {
    super(message, options)
    this.name = 'StoreError'
    this.kind = kind
  }
}
