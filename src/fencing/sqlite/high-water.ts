/** The high-water guard in an application's own SQLite database: it needs no sight of Tenure's file. */
import type { DatabaseSync } from 'node:sqlite'
import type { Fence, Fenced, Standing } from '../fence.ts'
import { fencedTransaction, refuseOpenTransaction, runWrite } from './transaction.ts'

/** A row for each resource: the highest generation that has written, and its session. For the application's migrations. */
export const SQLITE_HIGH_WATER_TABLE = `CREATE TABLE IF NOT EXISTS tenure_high_water (
  resource TEXT NOT NULL PRIMARY KEY,
  generation INTEGER NOT NULL CHECK (generation >= 1),
  session TEXT NOT NULL
) STRICT, WITHOUT ROWID`

/** No row comes back where a higher generation has written, or an equal one of another session. */
const RAISE = `
  INSERT INTO tenure_high_water AS mark (resource, generation, session) VALUES (?, ?, ?)
  ON CONFLICT (resource) DO UPDATE SET generation = excluded.generation, session = excluded.session
    WHERE mark.generation < excluded.generation
      OR (mark.generation = excluded.generation AND mark.session = excluded.session)
  RETURNING generation`

/**
 * Runs `write` in a transaction of `database` that refuses what is older than the highest generation seen so far.
 *
 * `resource` names what is protected, and belongs to one election: generations of two cannot be compared. An old
 * holder is refused from its successor's *first* fenced write on, so a new one writes at once, if only a mark.
 * `write` keeps the rules of `guardSqlite`; what it throws is thrown on, with nothing written and nothing raised.
 *
 * @throws what SQLite throws, with nothing written: "no such table" where `SQLITE_HIGH_WATER_TABLE` was not run.
 */
export function guardSqliteHighWater<T>(
  database: DatabaseSync,
  resource: string,
  fence: Fence,
  write: () => T,
): Fenced<T> {
  refuseOpenTransaction(database)
  return fencedTransaction(database, () => {
    if (raise(database, resource, fence)) return { ok: true, value: runWrite(database, write) }
    return { ok: false, reason: 'stale', current: highest(database, resource) }
  })
}

function raise(database: DatabaseSync, resource: string, { generation, session }: Fence): boolean {
  return database.prepare(RAISE).get(resource, generation, session) !== undefined
}

function highest(database: DatabaseSync, resource: string): Standing | null {
  const select = database.prepare('SELECT generation FROM tenure_high_water WHERE resource = ?')
  select.setReadBigInts(false)
  select.setReturnArrays(false)
  const row = select.get(resource) as { generation: number } | undefined
  return row === undefined ? null : { generation: row.generation, holder: null }
}
