/** Work leases on the rows of a table: each claim of a row has a token of its own, and only that token applies. */
import { changeMany, changeOne, type MakeStatement } from './change.ts'
import { classify, type Database, endedTransaction } from './database.ts'
import { Extender, type ExtenderOptions } from './extender.ts'
import { itemOf } from './item.ts'
import { checkLimit, checkSet, readOptions, type Settings, type WorkTableOptions } from './options.ts'
import type { Claimed, Item, JournalEntry, Op, Outcome } from './outcome.ts'
import type { Sql } from './sql.ts'
import { applyStatement, claimStatement, extendStatement } from './statements.ts'

/** Columns to write: a value becomes a parameter, a piece of SQL is put in. */
export type Changes<Row> = { readonly [Column in keyof Row]?: Row[Column] | Sql | null }

/** The decision. */
export interface Decision<Row> {
  readonly set?: Changes<Row>
  /** What must hold beside the token, judged on the row as it is: columns that must have these values, or SQL. */
  readonly where?: Changes<Row> | Sql
}

type Condition<Row> = Pick<Decision<Row>, 'where'>

/**
 * Every method is one statement (a list: one for each 500 items, and where a row is refused one more for each row) and
 * keeps nothing in the session, so `db` may be a pool, also behind PgBouncer in transaction mode. It may be a client inside a transaction
 * of yours: then a result counts once that has committed, and `contended` or a fault of PostgreSQL's has ended it.
 *
 * Given one item, a method returns its outcome; given a list, the outcomes in the same order. What is thrown is a
 * fault of the store: whether the statement took effect is then unknown for all of the items.
 */
export class WorkTable<Row extends object = Record<string, unknown>> {
  readonly #settings: Settings

  constructor(options: WorkTableOptions) {
    this.#settings = readOptions(options)
  }

  /**
   * Takes up to `limit` rows that are free and due, in order. Those that somebody has locked are passed over.
   *
   * @throws a fault of the store; also contention, where it has ended a transaction of yours.
   */
  async claim(db: Database, { limit }: { readonly limit: number }): Promise<Item<Row>[]> {
    checkLimit(limit)
    const { text, values } = claimStatement(this.#settings, { ...this.#settings, limit })
    let rows: readonly unknown[]
    try {
      rows = (await db.query(text, values)).rows
    } catch (error) {
      if (classify(error) !== 'contended' || (await endedTransaction(db))) throw error
      return []
    }
    const items = rows.map((row) => itemOf<Row>(row as Record<string, unknown>))
    for (const item of items) this.#note('claim', item, item.retaken ? 'retaken' : 'claimed')
    return items
  }

  /** Writes the decision and gives the row back with it. Nothing goes out to the world before this said `applied`. */
  apply<I extends Claimed>(db: Database, item: I, decision?: Decision<Row>): Promise<Outcome<I>>
  apply<I extends Claimed>(db: Database, items: readonly I[], decision?: Decision<Row>): Promise<Outcome<I>[]>
  async apply<I extends Claimed>(db: Database, items: I | readonly I[], decision: Decision<Row> = {}) {
    return this.#change(db, 'apply', items, this.#applies(decision))
  }

  /** Apply without columns: the work is done. */
  complete<I extends Claimed>(db: Database, item: I, condition?: Condition<Row>): Promise<Outcome<I>>
  complete<I extends Claimed>(
    db: Database,
    items: readonly I[],
    condition?: Condition<Row>,
  ): Promise<Outcome<I>[]>
  async complete<I extends Claimed>(db: Database, items: I | readonly I[], { where }: Condition<Row> = {}) {
    return this.#change(db, 'complete', items, this.#applies(where === undefined ? {} : { where }))
  }

  /** Apply for work that went wrong: with a later due time, a reason, a count, as the table has them. */
  fail<I extends Claimed>(db: Database, item: I, decision?: Decision<Row>): Promise<Outcome<I>>
  fail<I extends Claimed>(db: Database, items: readonly I[], decision?: Decision<Row>): Promise<Outcome<I>[]>
  async fail<I extends Claimed>(db: Database, items: I | readonly I[], decision: Decision<Row> = {}) {
    return this.#change(db, 'fail', items, this.#applies(decision))
  }

  /** Gives the row back unchanged: whoever claims next may have it at once. */
  release<I extends Claimed>(db: Database, item: I): Promise<Outcome<I>>
  release<I extends Claimed>(db: Database, items: readonly I[]): Promise<Outcome<I>[]>
  async release<I extends Claimed>(db: Database, items: I | readonly I[]) {
    return this.#change(db, 'release', items, this.#applies({}))
  }

  /** Keeps a live lease for `leaseMs` from now, within the claim's total life. */
  extend<I extends Claimed>(db: Database, item: I): Promise<Outcome<I>>
  extend<I extends Claimed>(db: Database, items: readonly I[]): Promise<Outcome<I>[]>
  async extend<I extends Claimed>(db: Database, items: I | readonly I[]) {
    return this.#change(db, 'extend', items, (claims) =>
      extendStatement(this.#settings, claims, this.#settings),
    )
  }

  /** Extends these every third of a lease until it is stopped, or each of them is dropped, lost or at its end. */
  keepExtended(db: Database, items: readonly Claimed[], options: ExtenderOptions = {}): Extender {
    const extend = (present: readonly Claimed[]) => this.extend(db, present)
    return new Extender(extend, items, { everyMs: this.#settings.leaseMs / 3, ...options })
  }

  #applies({ set = {}, where }: Decision<Row>): MakeStatement {
    checkSet(set, this.#settings)
    const { lockTimeoutMs } = this.#settings
    return (claims) => applyStatement(this.#settings, claims, { set, where: where ?? null, lockTimeoutMs })
  }

  async #change<I extends Claimed>(
    db: Database,
    op: Op,
    given: I | readonly I[],
    make: MakeStatement,
  ): Promise<Outcome<I> | Outcome<I>[]> {
    if (!isList(given)) {
      const done = await changeOne(db, given, make)
      return this.#told(op, done)
    }
    const outcomes = await changeMany(db, given, make)
    return outcomes.map((one) => this.#told(op, one))
  }

  #told<I extends Claimed>(op: Op, { leaseLeftMs, ...rest }: Outcome<I>): Outcome<I> {
    this.#note(op, rest.item, rest.result, rest.error)
    return { ...rest, leaseLeftMs: op === 'extend' ? leaseLeftMs : null }
  }

  #note(op: Op, { key, token }: Claimed, result: JournalEntry['result'], error: Error | null = null): void {
    const { journal, name } = this.#settings
    if (journal === null) return
    const table = `${name.schema}.${name.name}`
    try {
      const told: unknown = journal({ op, table, key, token, result, ...(error === null ? {} : { error }) })
      Promise.resolve(told).catch(warn)
    } catch (thrown) {
      warn(thrown)
    }
  }
}

/** The rows are written: their outcomes must reach the caller all the same. */
function warn(thrown: unknown): void {
  process.emitWarning(thrown instanceof Error ? thrown : String(thrown))
}

function isList<I>(given: I | readonly I[]): given is readonly I[] {
  return Array.isArray(given)
}
