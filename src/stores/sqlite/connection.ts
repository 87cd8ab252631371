import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../store.ts'
import { fileIdentity } from './file-identity.ts'
import { HistoryStatements } from './history-statements.ts'
import { prepare } from './schema.ts'
import { type Row, Statements } from './statements.ts'
import { transaction } from './transaction.ts'

/** SQLite waits for locks inside a call, and the event loop with it: long enough for another's commit, no longer. */
const BUSY_TIMEOUT_MS = 10
/** A file that appears or changes while it is opened is opened again, this often. */
const OPEN_TRIES = 3

/** The file at the path is not, or no longer, the one that this connection has open. */
export class Replaced extends Error {
  constructor(path: string) {
    super(`${path} was replaced`)
    this.name = 'Replaced'
  }
}

/** One open file. Any error but a held lock is a reason to close it and to open another. */
export class Connection {
  readonly path: string
  /** Tells this file, with this content's origin, from any other that was or will be at the path. */
  readonly identity: string
  /** The data version for which the watch has looked at the rows; null before its first look. */
  watchedVersion: number | null = null
  readonly #database: DatabaseSync
  readonly #fileIdentity: string
  readonly #placeId: string
  readonly #statements: Statements
  #history: HistoryStatements | null = null

  private constructor(path: string, database: DatabaseSync, identity: string) {
    this.path = path
    this.#database = database
    this.#fileIdentity = identity
    this.#statements = new Statements(database)
    this.#placeId = this.#readPlaceId()
    this.identity = `${identity} ${this.#placeId}`
  }

  /** Opens the file, and makes it and its folders where they are missing. */
  static open(path: string, uuid: () => string): Connection {
    for (let i = 0; i < OPEN_TRIES; i++) {
      makeFolder(dirname(path))
      const before = fileIdentity(path)
      const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
      try {
        // Only a file that was there before and after is certainly the one that was opened between.
        if (before !== null && fileIdentity(path) === before) {
          prepare(database, path, uuid)
          return new Connection(path, database, before)
        }
      } catch (error) {
        database.close()
        throw error
      }
      database.close()
    }
    throw new StoreError('unavailable', `${path} is being replaced over and over: leave it in place`, {
      cause: null,
    })
  }

  /** Whether the path still leads to the open file. */
  isAtPath(): boolean {
    return fileIdentity(this.path) === this.#fileIdentity
  }

  /**
   * Drops the pages kept in memory. SQLite takes them for good while the file's change counter is the same, and a
   * content that was written over the file may have the same.
   */
  forgetPages(): void {
    this.#database.exec('PRAGMA shrink_memory')
  }

  /** @throws Replaced where the content is another database's. */
  read(election: string): Row | null {
    const { placeId, row } = this.#statements.read(election)
    if (placeId !== this.#placeId) throw new Replaced(this.path)
    return row
  }

  /** Only inside a transaction that has read the row. */
  write(election: string, row: Row): void {
    this.#statements.write(election, row)
  }

  /** Throws where the table is missing, and hurts no lease. */
  get history(): HistoryStatements {
    this.#history ??= new HistoryStatements(this.#database)
    return this.#history
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return this.#statements.dataVersion()
  }

  transaction<T>(body: () => T): T {
    return transaction(this.#database, body)
  }

  close(): void {
    this.#database.close()
  }

  #readPlaceId(): string {
    const { placeId } = this.#statements.read('')
    if (placeId === null) {
      throw new StoreError(
        'schema',
        `${this.path} has lost the row that names it: stop every candidate that uses it, move it away, and start them again`,
        { cause: null },
      )
    }
    return placeId
  }
}

/** Node's own recursive form never ends where a folder exists and yet nothing can be found in it (`/proc`). */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Somebody else may have been quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
