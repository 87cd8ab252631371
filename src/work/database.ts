/** What work leases need of a database client, and how they read its errors. */

/** A `pg` Client, Pool or PoolClient, or anything like it. */
export interface Database {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
  /** `I` outside a transaction of the caller's; anything else says nothing that is relied on. */
  getTransactionStatus?(): string | null
}

/** Somebody else was in the way: serialization, deadlock, lock not available. */
const CONTENDED: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])
/** The transaction was given up by an earlier error. */
const IN_FAILED_TRANSACTION = '25P02'
/**
 * Classes of SQLSTATE that the server or the session is to blame for: connection, transaction state, login, database,
 * rollback, resources, intervention, system, defect. Any other one can come of a single row: its data, constraints,
 * policies, and whatever state its triggers like to raise.
 */
const OF_STORE: ReadonlySet<string> = new Set(['08', '25', '28', '3D', '40', '53', '57', '58', 'XX'])
/** But not `EPIPE` and its like, which come of the operating system. */
const SQLSTATE = /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/

/** Where an error belongs. `row`: perhaps to one row, perhaps to the statement itself. */
export type ErrorClass = 'contended' | 'row' | 'aborted' | 'store'

export function classify(error: unknown): ErrorClass {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (CONTENDED.has(code)) return 'contended'
  if (code === IN_FAILED_TRANSACTION) return 'aborted'
  return SQLSTATE.test(code) && !OF_STORE.has(code.slice(0, 2)) ? 'row' : 'store'
}

/** Whether an error just now has ended a transaction of the caller's; also where that cannot be found out. */
export async function endedTransaction(db: Database): Promise<boolean> {
  if (db.getTransactionStatus?.() === 'I') return false
  try {
    await db.query('SELECT 1', [])
    return false
  } catch {
    return true
  }
}
