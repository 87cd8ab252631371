/** What every store is made from, with the contract that it keeps. */
import type { Clock } from '../clock/clock.ts'

export * from '../election/lease-store.ts'

/** What a store is given when it is opened. */
export interface StoreContext {
  readonly clock: Clock
  /** Says something worth knowing once, in a whole sentence: "no wake-ups through a pooler: polling". */
  note(message: string): void
}

/** Where the store is, and how to prove who we are to it. */
export interface StoreSettings {
  /** `sqlite:PATH`, `postgres://…`, `postgres:`, `kubernetes://NAMESPACE`, `kubernetes:`. */
  readonly url: string
  readonly password: string | null
  /** Re-read at each connect. */
  readonly passwordFile: string | null
}
