/** The folder of one demo: the lease, the application's data, and the clock. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Decision, Fleet, Name } from './cast.ts'

/** Commits of two processes may meet; nothing here takes as long. */
const BUSY_TIMEOUT_MS = 5_000

export const leasePath = (folder: string): string => join(folder, 'tenure.db')
export const clockPath = (folder: string): string => join(folder, 'clock')

export function openData(folder: string): DatabaseSync {
  return new DatabaseSync(join(folder, 'data.db'), { timeout: BUSY_TIMEOUT_MS })
}

export function createData(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE fleet (name TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, set_by TEXT NOT NULL) STRICT;
    INSERT INTO fleet (name, size, set_by) VALUES ('web', 1, 'nobody')`)
}

export function readFleet(database: DatabaseSync): Fleet {
  const row = database.prepare("SELECT size, set_by FROM fleet WHERE name = 'web'").get()
  return { size: Number(row?.size), set_by: String(row?.set_by) }
}

/** As the application runs it, and as the story shows it. */
export function updateSql(name: Name, { size }: Decision): string {
  return `UPDATE fleet SET size = ${size}, set_by = '${name}' WHERE name = 'web'`
}
