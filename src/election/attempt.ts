/** The bounds of one request. */
export interface Attempt {
  /** The caller gives up after this time; a store uses it to keep late statements from taking effect. */
  readonly timeoutMs: number
  /** Aborted when the caller has given up: the store destroys the connection and does not reuse it. */
  readonly signal: AbortSignal
}
