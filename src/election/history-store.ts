/** The contract between an election and a store that also keeps a history of its tenures. */
import type { Attempt } from './attempt.ts'
import type { Predecessor } from './begun.ts'
import type { Reason, TenureRecord } from './status.ts'

/** What the holder of a tenure knows of it. Later entries of one tenure know more. */
export interface HistoryEntry {
  readonly generation: number
  /** Label of the holder. */
  readonly holder: string
  /** Tells the process that writes from every other one; its session cannot be found from it. */
  readonly writer: string
  /** When it began on the store's clock, milliseconds since 1970. */
  readonly fromMs: number
  /** How long nobody held the lease before, as the grant told; null when unknown. */
  readonly leaderlessMs: number | null
  /** Why it ends; null as long as nothing is known of an end. */
  readonly reason: Reason | null
  /** When its lease was given back, on the store's clock; null as long as it was not, or where the reply was lost. */
  readonly untilMs: number | null
  readonly before: Predecessor | null
}

/**
 * Keeps the tenures of elections: bounded, and never in the way of a lease. Only faults are exceptions, and then a
 * `StoreError`.
 */
export interface HistoryStore {
  /**
   * Writes down what is known of a tenure, and what its grant told of the one before. May be repeated, and come in any
   * order with what the next holder writes: the rows come out the same. What a holder says of its own tenure counts
   * more than what the next one says of it; a row of another writer is left as it is.
   */
  write(election: string, entry: HistoryEntry, attempt: Attempt): Promise<'written' | 'contended'>
  /** The newest `most` tenures, the oldest first. */
  read(election: string, most: number, attempt: Attempt): Promise<readonly TenureRecord[]>
}
