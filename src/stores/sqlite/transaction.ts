import type { DatabaseSync } from 'node:sqlite'

/**
 * Runs `body` while no other connection can write, and commits. Clocks that `body` reads are read under the lock.
 *
 * Whatever `body` or the commit throws is thrown on, with nothing written.
 */
export function transaction<T>(database: DatabaseSync, body: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = body()
    database.exec('COMMIT')
    return result
  } catch (error) {
    // After some errors SQLite has rolled back by itself.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
