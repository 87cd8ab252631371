/** The settings of a work table, checked. */
import { LEASE_TOKEN, LEASED_UNTIL, parseTable, quoteName, quoteTable, type TableName } from './names.ts'
import type { Journal } from './outcome.ts'
import { Sql } from './sql.ts'

/** Longest lease and life: more than that is ownership. */
const LIFE_MOST_MS = 7 * 24 * 3_600_000
/** Rows in one claim: they are locked together and travel in one reply. */
const LIMIT_MOST = 10_000
const LOCK_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MOST_MS = 600_000

export interface WorkTableOptions {
  /** `schema.table`, or `table` in the schema public. Taken as it stands, without folding to lower case. */
  readonly table: string
  /** The column of the primary key, or of a unique one without nulls. */
  readonly key: string
  /** What is due, beside being free. Default: everything. */
  readonly due?: Sql
  /** What comes first. Default: by key. */
  readonly orderBy?: Sql
  /** The columns that a claim reads. Default: all. */
  readonly columns?: readonly string[]
  /** How long a claim, and each extension, lasts. */
  readonly leaseMs: number
  /** How long a claim may last in total, however often it is extended. At least `leaseMs`. */
  readonly lifeMs: number
  /** How long a statement waits for a row that another transaction has locked. Default 5 s. */
  readonly lockTimeoutMs?: number
  readonly journal?: Journal
}

export interface Settings {
  readonly name: TableName
  readonly table: string
  readonly key: string
  readonly due: Sql | null
  readonly orderBy: Sql | null
  readonly columns: readonly string[] | null
  readonly leaseMs: number
  readonly lifeMs: number
  readonly lockTimeoutMs: number
  readonly journal: Journal | null
  readonly reserved: ReadonlySet<string>
}

/** @throws TypeError which names the option, the rule and the remedy. */
export function readOptions(options: WorkTableOptions): Settings {
  const { table, key, leaseMs, lifeMs, lockTimeoutMs = LOCK_TIMEOUT_MS, columns = null } = options
  const name = parseTable(table)
  whole('leaseMs', leaseMs, 1, LIFE_MOST_MS)
  whole('lifeMs', lifeMs, 1, LIFE_MOST_MS)
  whole('lockTimeoutMs', lockTimeoutMs, 1, LOCK_TIMEOUT_MOST_MS)
  if (leaseMs > lifeMs) {
    throw new TypeError(
      `leaseMs ${leaseMs}, lifeMs ${lifeMs}: one lease is never longer than the total life; raise lifeMs or lower leaseMs`,
    )
  }
  if (columns?.length === 0)
    throw new TypeError('columns: an empty list reads nothing; name some or leave it out')
  columns?.forEach(quoteName)
  return {
    name,
    table: quoteTable(name),
    key: quoteName(key),
    due: piece('due', options.due),
    orderBy: piece('orderBy', options.orderBy),
    columns,
    leaseMs,
    lifeMs,
    lockTimeoutMs,
    journal: options.journal ?? null,
    reserved: new Set([LEASED_UNTIL, LEASE_TOKEN, key]),
  }
}

/** @throws TypeError */
export function checkLimit(limit: number): void {
  whole('limit', limit, 1, LIMIT_MOST)
}

/** @throws TypeError where a column is not the caller's to write. */
export function checkSet(set: Readonly<Record<string, unknown>>, { reserved }: Settings): void {
  const taken = Object.keys(set).find((name) => reserved.has(name))
  if (taken === undefined) return
  throw new TypeError(`set: the column ${JSON.stringify(taken)} belongs to the lease; leave it out`)
}

function piece(option: string, value: Sql | undefined): Sql | null {
  if (value === undefined || value instanceof Sql) return value ?? null
  throw new TypeError(`${option}: it is a piece of SQL; write it with the tag: sql\`…\``)
}

function whole(option: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new TypeError(`${option} ${value}: it is a whole number from ${least} to ${most}; give one`)
}
