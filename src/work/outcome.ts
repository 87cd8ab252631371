/** What a claim gives, and what became of each item afterwards. */

/** A claimed row. Frozen; may be copied or sent elsewhere, for the token is all that counts. */
export interface Item<Row> {
  /** The value of the key column, as PostgreSQL writes it: also a bigint is text. */
  readonly key: string
  /** Of this claim of this row, a UUID. */
  readonly token: string
  /** When the claim began, on the server's clock, in ISO 8601. */
  readonly claimedAt: string
  /** The row had been leased before and that lease ran out: its runner was killed, or is late. */
  readonly retaken: boolean
  /** The columns as they were when it was claimed. */
  readonly row: Row
}

/** What identifies a claim: an item, or no more than this of it. */
export type Claimed = Pick<Item<unknown>, 'key' | 'token'>

/**
 * - `applied`: done.
 * - `lost`: the row carries this token no more. Somebody else took it, or it was applied before. Final.
 * - `missing`: there is no such row. Final.
 * - `unmet`: the token stands, and the further predicate does not hold. The lease stays.
 * - `ended`: of `extend`. The lease ran out, or the claim has had its total life. No more time is given; the token
 *   still applies for as long as nobody takes the row.
 * - `contended`: another transaction was in the way for too long. Ask again.
 * - `fault`: of one among several; `error` says why. Where that is no refusal of PostgreSQL's, but a connection that
 *   broke, it is unknown whether the row was written. Also where a trigger put the token back: what else the trigger
 *   let through is written, the token could apply again, and so it does not count as applied.
 *
 * Whatever else is not `applied` has changed nothing at all.
 */
export type Result = 'applied' | 'lost' | 'missing' | 'unmet' | 'ended' | 'contended' | 'fault'

/** What became of one item. */
export interface Outcome<I extends Claimed = Claimed> {
  readonly item: I
  readonly result: Result
  /** `result` is `applied`. */
  readonly applied: boolean
  /** Of `extend`: how long the lease has left on the server's clock, 0 or more; else null. */
  readonly leaseLeftMs: number | null
  /** Of a `fault`; else null. */
  readonly error: Error | null
}

export type Op = 'claim' | 'extend' | 'apply' | 'complete' | 'fail' | 'release'

/** A line for the journal. It has no time of its own: the log that takes it stamps it. */
export interface JournalEntry {
  readonly op: Op
  /** `schema.table`. */
  readonly table: string
  readonly key: string
  readonly token: string
  readonly result: Result | 'claimed' | 'retaken'
  /** Of a `fault`. PostgreSQL's own has contents of the row in its `detail`. */
  readonly error?: Error
}

/** Takes each claim, and the result for each item. What it throws, or rejects with, becomes a process warning. */
export type Journal = (entry: JournalEntry) => unknown

export function outcome<I extends Claimed>(
  item: I,
  result: Result,
  more: { readonly leaseLeftMs?: number | null; readonly error?: Error } = {},
): Outcome<I> {
  const { leaseLeftMs = null, error = null } = more
  return { item, result, applied: result === 'applied', leaseLeftMs, error }
}
