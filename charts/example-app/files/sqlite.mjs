// A counter in a SQLite file. Its row remembers the generation that wrote last, and an older one changes nothing.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const FILE = process.env.DATA_FILE
mkdirSync(dirname(FILE), { recursive: true })
const database = new DatabaseSync(FILE, { timeout: 500 })
database.exec(
  'CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, value INTEGER, fence INTEGER, session TEXT) STRICT',
)

const COUNT = database.prepare(`
  INSERT INTO counter (name, value, fence, session) VALUES ($election, 1, $generation, $session)
  ON CONFLICT (name) DO UPDATE SET value = value + 1, fence = excluded.fence, session = excluded.session
  WHERE excluded.fence > fence OR (excluded.fence = fence AND excluded.session = session)
  RETURNING value`)

export async function write({ election, generation, session }) {
  const row = COUNT.get({ $election: election, $generation: generation, $session: session })
  return row === undefined ? { stale: true } : { value: row.value }
}
