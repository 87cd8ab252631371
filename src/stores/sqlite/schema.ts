/** The file's layout: who it belongs to, which version it has, and how an older one becomes this one. */
import type { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../store.ts'
import { transaction } from './transaction.ts'

/** "Tnre": what tells our files from other programs' databases. */
const APPLICATION_ID = 0x546e7265

/**
 * One entry for each version, never changed once released. Times are whole milliseconds of the boot clock that
 * `clock_id` names. `writes` grows with every write of a row and tells any two states of it apart, in order.
 * `place` names this database, so that another one put in its stead is seen.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE place (id TEXT NOT NULL) STRICT;
   CREATE TABLE lease (
     election TEXT NOT NULL PRIMARY KEY,
     generation INTEGER NOT NULL CHECK (generation >= 1),
     holder TEXT,
     session TEXT,
     ttl_ms INTEGER NOT NULL CHECK (ttl_ms > 0),
     clock_id TEXT NOT NULL,
     acquired_boot_ms INTEGER NOT NULL,
     renewed_boot_ms INTEGER NOT NULL,
     expires_boot_ms INTEGER NOT NULL,
     released_boot_ms INTEGER,
     writes INTEGER NOT NULL,
     CHECK ((session IS NULL) = (holder IS NULL))
   ) STRICT, WITHOUT ROWID;`,
  // For people, hence the wall clock: milliseconds since 1970. No lease depends on it.
  `CREATE TABLE history (
     election TEXT NOT NULL,
     generation INTEGER NOT NULL,
     holder TEXT,
     writer TEXT,
     began_ms INTEGER NOT NULL,
     ended_ms INTEGER,
     reason TEXT,
     leaderless_ms INTEGER,
     PRIMARY KEY (election, generation)
   ) STRICT, WITHOUT ROWID;`,
]

export const SCHEMA_VERSION = MIGRATIONS.length

/**
 * Sets the connection up, and brings an empty or older file to this version. A file that is up to date is only read.
 * Another program's database is left alone.
 *
 * @throws StoreError `misconfigured` for another program's database, `schema` for a newer version.
 */
export function prepare(database: DatabaseSync, path: string, uuid: () => string): void {
  const version = versionOf(database, path)
  setDurability(database, path)
  if (version < SCHEMA_VERSION) migrate(database, path, uuid)
}

/** A rollback journal that is emptied at each commit, and a commit that has reached the disk. */
function setDurability(database: DatabaseSync, path: string): void {
  const mode = database.prepare('PRAGMA journal_mode = TRUNCATE').get()?.journal_mode
  if (mode !== 'truncate') {
    throw new StoreError(
      'unavailable',
      `${path} is in journal mode ${mode} and cannot leave it: close the other programs that have it open`,
      { cause: null },
    )
  }
  database.exec('PRAGMA synchronous = FULL')
}

function migrate(database: DatabaseSync, path: string, uuid: () => string): void {
  transaction(database, () => {
    // Asked anew under the lock: another process may have done it meanwhile.
    const version = versionOf(database, path)
    for (const sql of MIGRATIONS.slice(version)) database.exec(sql)
    if (version === 0) database.prepare('INSERT INTO place (id) VALUES (?)').run(uuid())
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`)
  })
}

/**
 * The version of the file; 0 for an empty one. Only reads.
 *
 * @throws StoreError `misconfigured` for another program's database, `schema` for a newer version.
 */
export function versionOf(database: DatabaseSync, path: string): number {
  const owner = pragma(database, 'application_id')
  if (owner !== APPLICATION_ID) {
    const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.count
    if (owner === 0 && tables === 0) return 0
    throw new StoreError(
      'misconfigured',
      `${path} is the database of another program: give Tenure a file of its own`,
      { cause: null },
    )
  }
  const version = pragma(database, 'user_version')
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      'schema',
      `${path} has schema version ${version}, and this Tenure is older: it knows versions up to ${SCHEMA_VERSION}; run the newer Tenure, or use another file`,
      { cause: null },
    )
  }
  return version
}

function pragma(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
}
