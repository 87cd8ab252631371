/** What work leases need of a database client, and how they read its errors. */

/** A `pg` Client, Pool or PoolClient, or anything like it. */
export interface Database {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** Somebody else was in the way: serialization, deadlock, lock not available. */
const CONTENDED: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])
/** What one row can cause: its data, its constraints, its trigger. */
const OF_ONE_ROW: ReadonlySet<string> = new Set(['22', '23', 'P0'])
/** The transaction was given up by an earlier error. */
const IN_FAILED_TRANSACTION = '25P02'

/** Where an error belongs. */
export type ErrorClass = 'contended' | 'row' | 'aborted' | 'store'

export function classify(error: unknown): ErrorClass {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (CONTENDED.has(code)) return 'contended'
  if (code === IN_FAILED_TRANSACTION) return 'aborted'
  return code.length === 5 && OF_ONE_ROW.has(code.slice(0, 2)) ? 'row' : 'store'
}
