import type { StoreErrorKind } from '../stores/store.ts'

/** What the exit codes say. */
export const EXIT = {
  ok: 0,
  /** Something failed that neither the caller nor the store is to blame for. */
  fault: 1,
  /** Usage or configuration. */
  usage: 2,
  notLeading: 3,
  storeUnreachable: 4,
  schema: 5,
  timeout: 124,
} as const

const BY_STORE_ERROR: Readonly<Record<StoreErrorKind, number>> = {
  unavailable: EXIT.storeUnreachable,
  denied: EXIT.storeUnreachable,
  schema: EXIT.schema,
  misconfigured: EXIT.usage,
}

/** The code for a command that a fault of the store has stopped. */
export function exitOfStoreError(kind: StoreErrorKind): number {
  return BY_STORE_ERROR[kind]
}

/** What stops a command and is no defect: a message for people and the exit code that goes with it. */
export class CommandError extends Error {
  readonly code: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
    this.code = code
  }
}
