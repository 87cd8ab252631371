/** `tenure/fencing`: makes a stale answer harmless, with or without the sidecar. docs/fencing.md says which guard when. */
export { type Fence, type Fenced, fenceSetting, type Stale, type Standing } from './fence.ts'
export type { Connection, Pool, Rows } from './postgres/connection.ts'
export { guard, guardResources, setFence } from './postgres/guards.ts'
export { STALE_SQLSTATE, staleOf } from './postgres/stale.ts'
export { guardedQuery } from './postgres/statement.ts'
export {
  type TransactionOptions,
  type Work,
  withFence,
  withGuard,
  withResourceGuard,
} from './postgres/transaction.ts'
export { guardSqliteHighWater, SQLITE_HIGH_WATER_TABLE } from './sqlite/high-water.ts'
export { guardSqlite } from './sqlite/strict.ts'
