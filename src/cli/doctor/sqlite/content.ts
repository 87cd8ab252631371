/** What is in the file. It is read, and its write lock taken and given back. */
import { DatabaseSync } from 'node:sqlite'
import { isBusy, toStoreError } from '../../../stores/sqlite/errors.ts'
import { viewOf } from '../../../stores/sqlite/lease.ts'
import { SCHEMA_VERSION, versionOf } from '../../../stores/sqlite/schema.ts'
import { Statements } from '../../../stores/sqlite/statements.ts'
import {
  advise,
  type Check,
  type Findings,
  fault,
  faultOf,
  type Lease,
  ok,
  paste,
  warning,
} from '../check.ts'
import { shellWord } from '../quote.ts'
import type { Subject } from '../subject.ts'
import { anotherFile } from './place.ts'

/** A sidecar's write takes some milliseconds. */
const LOCK_WITHIN_MS = 1_000
/** SQLITE_CORRUPT, the low byte of the result code. */
const CORRUPT = 11
const PRIMARY_CODES = 256
const OWN = 'the file belongs to Tenure alone'

export function examineContent(path: string, subject: Subject): Findings {
  let database: DatabaseSync | null = null
  try {
    database = new DatabaseSync(path, { timeout: LOCK_WITHIN_MS })
    const version = versionOf(database, path)
    const damage = checkDamage(database, path, version)
    if (damage !== null) return { checks: [damage], leases: [] }
    const content = ok('content', `${path} has schema version ${version} of ${SCHEMA_VERSION}`)
    const checks = [content, checkJournal(database), checkLock(database, path)]
    return { checks, leases: version === 0 ? [] : leasesOf(database, subject) }
  } catch (error) {
    return { checks: [unusable(error, path)], leases: [] }
  } finally {
    database?.close()
  }
}

function unusable(error: unknown, path: string): Check {
  if (isBusy(error)) return locked(path)
  const known = toStoreError(error, path)
  switch (known.kind) {
    case 'misconfigured':
      return fault('content', known.kind, known.message, OWN, anotherFile(path))
    case 'schema':
      return fault(
        'content',
        known.kind,
        known.message,
        'the file is not newer than the program',
        advise(
          'run the Tenure that the other candidates run; with another file this one would lead beside them',
        ),
      )
    default:
      return isDamage(error) ? damaged(path, known.message) : faultOf('content', known)
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && Number(error.errcode) % PRIMARY_CODES === CORRUPT
}

function damaged(path: string, found: string): Check {
  const word = shellWord(path)
  return fault(
    'content',
    'schema',
    found,
    'what SQLite wrote can be read again',
    paste(
      'shell',
      `mv ${word} ${word}.damaged`,
      'stop every candidate that uses the file, move it away, wait for one ttl, start them again, with --generation-floor above the last generation that you know',
    ),
  )
}

/** Null where the pages are sound and the row that names the database is there. */
function checkDamage(database: DatabaseSync, path: string, version: number): Check | null {
  const [first] = database.prepare('PRAGMA quick_check(1)').all()
  const said = String(first?.quick_check ?? '')
  if (said !== 'ok') return damaged(path, `${path} is damaged: ${said}`)
  if (version === 0 || new Statements(database).read('').placeId !== null) return null
  return damaged(path, `${path} has lost the row that names it`)
}

function checkJournal(database: DatabaseSync): Check {
  const mode = String(database.prepare('PRAGMA journal_mode').get()?.journal_mode)
  if (mode !== 'wal') return ok('journal', 'it keeps a rollback journal')
  return warning(
    'journal',
    'the file is in journal mode wal: somebody has changed it',
    'the file keeps a rollback journal: with wal, containers that do not share its index would lead side by side',
    paste(
      'sqlite',
      'PRAGMA journal_mode = TRUNCATE;',
      'close the program that did so; the next sidecar that opens the file does the rest',
    ),
  )
}

/** Whether a write could begin: it does, and ends with nothing written. */
function checkLock(database: DatabaseSync, path: string): Check {
  try {
    database.exec('BEGIN IMMEDIATE')
    database.exec('ROLLBACK')
    return ok('writable', 'a write could begin')
  } catch (error) {
    if (isBusy(error)) return locked(path)
    return faultOf('writable', toStoreError(error, path))
  }
}

function locked(path: string): Check {
  return fault(
    'writable',
    'unavailable',
    `${path} was locked for more than ${LOCK_WITHIN_MS} ms`,
    'nobody holds the write lock for longer than a write takes',
    paste(
      'shell',
      `fuser -v ${shellWord(path)}`,
      'find the program that holds it (a shell of sqlite3, a backup), and end it',
    ),
  )
}

function leasesOf(database: DatabaseSync, { config, clock }: Subject): readonly Lease[] {
  const statements = new Statements(database)
  const time = { bootMs: clock.now().bootMs, clockId: clock.bootClockId }
  return config.values.elections.flatMap((election) => {
    const { row } = statements.read(election)
    if (row === null) return []
    const { holder, session, generation, remainingMs } = viewOf(row, time, clock.date())
    return [{ election, holder, session, generation, live: session !== null && remainingMs !== 0 }]
  })
}
