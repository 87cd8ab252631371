/** What the tests of the strict guard share. Importing it gives every test a fresh place. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach } from 'node:test'
import { attempt, Contender, candidate } from '../conformance/harness.ts'
import { SqlitePlace } from '../conformance/sqlite-place.ts'

export const TTL_MS = 10_000
const CLOCK_STEP_MS = 10

export let place: SqlitePlace
let open: DatabaseSync[]
beforeEach(() => {
  place = new SqlitePlace()
  open = []
})
afterEach(async () => {
  for (const database of open) if (database.isOpen) database.close()
  await place.close()
})

/** Closes it after the test. */
export function closing<T extends DatabaseSync>(database: T): T {
  open.push(database)
  return database
}

export function connect(path = join(place.folder.path, 'data.db')): DatabaseSync {
  return closing(new DatabaseSync(path))
}

/** The application's own data, in a file of their own. */
export function application(journalMode = 'wal'): DatabaseSync {
  const database = connect()
  database.exec(`PRAGMA journal_mode = ${journalMode}; CREATE TABLE IF NOT EXISTS note (text TEXT NOT NULL)`)
  return database
}

export function add(database: DatabaseSync, text: string): () => number {
  return () => Number(database.prepare('INSERT INTO note VALUES (?)').run(text).changes)
}

export function notes(database: DatabaseSync): readonly unknown[] {
  return database
    .prepare('SELECT text FROM note')
    .all()
    .map((row) => row.text)
}

export async function contender(identity: string, path = place.path): Promise<Contender> {
  return new Contender(await place.open(undefined, path), 'fleet', candidate(identity))
}

/** One attempt to take over, without patience. */
export function tryTakeOver(one: Contender, above: number): Promise<{ readonly kind: string }> {
  return one.store.acquire('fleet', one.candidate, { ttlMs: TTL_MS, above }, attempt())
}

/** The lease runs out. */
export const expire = (): void => place.machine.advance(TTL_MS + CLOCK_STEP_MS)
