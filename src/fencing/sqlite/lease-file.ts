import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../clock/clock.ts'
import { fileIdentity } from '../../stores/sqlite/file-identity.ts'
import type { Fence, Standing } from '../fence.ts'

/** The name under which Tenure's file is attached: one that no application has given to a database of its own. */
const SCHEMA = 'tenure_guard'
const REMEDY = 'give the path of the file that the sidecar has as --store sqlite:PATH'

/** Result codes of SQLite. */
const SQLITE_ERROR = 1
const SQLITE_CANTOPEN = 14
const PRIMARY_MASK = 0xff

/** What stands in the file, and whether it is what the fence says. */
export interface Sighting {
  readonly leads: boolean
  /** Null where there is no such election. */
  readonly current: Standing | null
}

interface LeaseRow {
  readonly generation: number
  readonly session: string | null
  readonly holder: string | null
  readonly clockId: string
  readonly expiresBootMs: number
}

/**
 * Tenure's file as one transaction of an application sees it.
 *
 * Attached anew for each transaction: it is then the file that is at the path, the application's other transactions
 * do not lock it, and it is the last of the attached databases. SQLite ends a commit database by database, in the
 * order in which they were attached: the lease has to be let go of last.
 *
 * Attached for reading only: a reader keeps a takeover from being committed as well as a writer does, needs no right
 * to write, and guarded transactions on other databases pass beside it.
 */
export class LeaseFile {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #schema: string
  readonly #identity: string | null

  private constructor(database: DatabaseSync, path: string, schema: string, identity: string | null) {
    this.#database = database
    this.#path = path
    this.#schema = schema
    this.#identity = identity
  }

  /** @throws Error where the path leads to no file that can be read; what SQLite throws where it is locked. */
  static open(database: DatabaseSync, path: string): LeaseFile {
    const identity = fileIdentity(path)
    const main = database.location()
    // The same file twice in one connection would wait for itself.
    if (identity !== null && main !== null && fileIdentity(main) === identity) {
      return new LeaseFile(database, path, 'main', identity)
    }
    // Left there by a write that did not finish its statements.
    if (isAttached(database)) database.exec(`DETACH ${SCHEMA}`)
    attach(database, path)
    return new LeaseFile(database, path, SCHEMA, identity)
  }

  /** Whether the path still leads to the file that was attached. */
  isAtPath(): boolean {
    return this.#identity !== null && fileIdentity(this.#path) === this.#identity
  }

  /** Reads the row; from then on, to the end of the transaction, no takeover and no release can be committed. */
  look(fence: Fence, clock: Clock): Sighting {
    this.#refuseWal()
    const row = this.#read(fence.election)
    if (row === null) return { leads: false, current: null }
    const { generation, session } = row
    const holder = isOver(row, clock) ? null : row.holder
    // A free lease has no session: a caller without types may have none either, and is not meant.
    const isNamed = session !== null && session === fence.session && generation === fence.generation
    return { leads: isNamed && holder !== null, current: { generation, holder } }
  }

  /** @throws Error where a statement of the application still holds the file. */
  close(): void {
    if (this.#schema === 'main') return
    try {
      this.#database.exec(`DETACH ${SCHEMA}`)
    } catch (cause) {
      throw new Error(
        'the transaction is over, but a statement on this connection is still open and keeps the lease locked: finish every iterator before a fenced write returns',
        { cause },
      )
    }
  }

  /** As `close`, when another error is on its way: what cannot be detached now, the next guard detaches. */
  abandon(): void {
    try {
      this.close()
    } catch {
      // The error that is on its way says more.
    }
  }

  #read(election: string): LeaseRow | null {
    try {
      const select = this.#database.prepare(
        `SELECT generation, session, holder, clock_id AS clockId, expires_boot_ms AS expiresBootMs
        FROM ${this.#schema}.lease WHERE election = ?`,
      )
      // The application may have other habits on its connection.
      select.setReadBigInts(false)
      select.setReturnArrays(false)
      return (select.get(election) as LeaseRow | undefined) ?? null
    } catch (cause) {
      if (primaryCode(cause) !== SQLITE_ERROR) throw cause
      throw new Error(`${this.#path} holds no leases: ${REMEDY}`, { cause })
    }
  }

  /** Readers keep nobody from committing in that mode. Nobody but a foreign hand sets it. */
  #refuseWal(): void {
    const select = this.#database.prepare(`PRAGMA ${this.#schema}.journal_mode`)
    select.setReturnArrays(false)
    if (select.get()?.journal_mode !== 'wal') return
    throw new Error(
      `${this.#path} is in journal mode WAL, in which it fences nothing: set it back with PRAGMA journal_mode = TRUNCATE`,
    )
  }
}

/**
 * Whether the lease has run out by the clock that it was written by. Without this, transactions that overlap would let
 * an application whose sidecar is gone keep every takeover away. By another clock nobody can tell.
 */
function isOver({ clockId, expiresBootMs }: LeaseRow, clock: Clock): boolean {
  return clockId === clock.bootClockId && expiresBootMs <= clock.now().bootMs
}

function attach(database: DatabaseSync, path: string): void {
  try {
    database.prepare(`ATTACH ? AS ${SCHEMA}`).run(`${pathToFileURL(path).href}?mode=ro`)
  } catch (cause) {
    if (primaryCode(cause) !== SQLITE_CANTOPEN) throw cause
    throw new Error(`the lease file ${path} cannot be opened: ${REMEDY}, and let this user read it`, {
      cause,
    })
  }
}

function isAttached(database: DatabaseSync): boolean {
  return database.location(SCHEMA) !== null
}

function primaryCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode & PRIMARY_MASK : null
}
