import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** A row of `lease`. Times: whole milliseconds of the boot clock that `clockId` names. */
export interface Row {
  readonly generation: number
  /** The holder's label; null when free. */
  readonly holder: string | null
  readonly session: string | null
  readonly ttlMs: number
  readonly clockId: string
  readonly acquiredBootMs: number
  readonly renewedBootMs: number
  readonly expiresBootMs: number
  /** When it was released, or expired before that; null while held, and where no clock could tell. */
  readonly releasedBootMs: number | null
  /** Grows with every write. */
  readonly writes: number
}

/** What one look at the file showed. */
export interface Sighting {
  /** Names the database; null where somebody emptied it. */
  readonly placeId: string | null
  readonly row: Row | null
}

type Columns = { readonly placeId: string } & { readonly [K in keyof Row]: Row[K] | null }

const READ = `
  SELECT place.id AS placeId, generation, holder, session, ttl_ms AS ttlMs, clock_id AS clockId,
    acquired_boot_ms AS acquiredBootMs, renewed_boot_ms AS renewedBootMs, expires_boot_ms AS expiresBootMs,
    released_boot_ms AS releasedBootMs, writes
  FROM place LEFT JOIN lease ON lease.election = ?`

const WRITE = `
  INSERT INTO lease (election, generation, holder, session, ttl_ms, clock_id,
    acquired_boot_ms, renewed_boot_ms, expires_boot_ms, released_boot_ms, writes)
  VALUES ($election, $generation, $holder, $session, $ttlMs, $clockId,
    $acquiredBootMs, $renewedBootMs, $expiresBootMs, $releasedBootMs, $writes)
  ON CONFLICT (election) DO UPDATE SET generation = excluded.generation, holder = excluded.holder,
    session = excluded.session, ttl_ms = excluded.ttl_ms, clock_id = excluded.clock_id,
    acquired_boot_ms = excluded.acquired_boot_ms, renewed_boot_ms = excluded.renewed_boot_ms,
    expires_boot_ms = excluded.expires_boot_ms, released_boot_ms = excluded.released_boot_ms,
    writes = excluded.writes`

/** The three statements of the store, prepared once for each connection. */
export class Statements {
  readonly #read: StatementSync
  readonly #write: StatementSync
  readonly #dataVersion: StatementSync

  constructor(database: DatabaseSync) {
    this.#read = database.prepare(READ)
    this.#write = database.prepare(WRITE)
    this.#dataVersion = database.prepare('PRAGMA data_version')
  }

  read(election: string): Sighting {
    // A STRICT table holds what its columns say.
    const columns = this.#read.get(election) as Columns | undefined
    if (columns === undefined) return { placeId: null, row: null }
    const { placeId, ...row } = columns
    return { placeId, row: row.generation === null ? null : ({ ...row } as Row) }
  }

  /** Only inside a transaction that has read the row: what is written rests on it. */
  write(election: string, row: Row): void {
    this.#write.run({ election, ...row })
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return Number(this.#dataVersion.get()?.data_version)
  }
}
