import type { DatabaseSync } from 'node:sqlite'
import type { Fenced } from '../fence.ts'

/**
 * Runs `body` while no other connection can write, and commits what it says is in order. What is stale is rolled back,
 * and so is everything when `body` throws.
 */
export function fencedTransaction<T>(database: DatabaseSync, body: () => Fenced<T>): Fenced<T> {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = body()
    database.exec(result.ok ? 'COMMIT' : 'ROLLBACK')
    return result
  } catch (error) {
    // After some errors SQLite has rolled back by itself.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** A transaction that is open already was not checked when it began, and a database is attached only outside of one. */
export function refuseOpenTransaction(database: DatabaseSync): void {
  if (!database.isTransaction) return
  throw new Error(
    'a fenced write begins its own transaction: end the one that is open on this connection first',
  )
}

/** Runs the application's part, which has to be over, with the transaction still open, when it returns. */
export function runWrite<T>(database: DatabaseSync, write: () => T): T {
  const value = write()
  if (value instanceof Promise) {
    throw new TypeError(
      'the fenced write returned a promise: write synchronously, and wait for others before or after',
    )
  }
  if (database.isTransaction) return value
  throw new Error(
    'the fenced write ended the transaction that it was checked in: leave COMMIT and ROLLBACK to the guard',
  )
}
