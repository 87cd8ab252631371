import { DatabaseSync } from 'node:sqlite'
import type { StoreHarness } from './harness.ts'
import { SqlitePlace } from './sqlite-place.ts'
import { describeStore } from './suite.ts'

/** A real file; each store is another process on one machine. */
async function sqliteHarness(): Promise<StoreHarness> {
  const place = new SqlitePlace()
  let reader: DatabaseSync | null = null
  return {
    leastTtlMs: 1_000,
    supportsWatch: true,
    open: () => place.open(),
    forwardMs: async (ms) => place.machine.advance(ms),
    readRow: async (election) => {
      reader ??= new DatabaseSync(place.path, { readOnly: true })
      const row = reader.prepare('SELECT * FROM lease WHERE election = ?').get(election)
      return row === undefined ? null : JSON.stringify(row)
    },
    close: async () => {
      reader?.close()
      await place.close()
    },
  }
}

describeStore('sqlite', sqliteHarness)
