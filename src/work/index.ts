/**
 * `tenure/work`: work leases on the rows of any table in PostgreSQL that has the columns `leased_until` and
 * `lease_token`. Needs no sidecar. docs/work.md explains it.
 */
export type { Database } from './database.ts'
export type { Extender, ExtenderOptions } from './extender.ts'
export type { WorkTableOptions } from './options.ts'
export type { Claimed, Item, Journal, JournalEntry, Op, Outcome, Result } from './outcome.ts'
export { inMs, Sql, sql } from './sql.ts'
export { type Changes, type Decision, WorkTable } from './work-table.ts'
