/**
 * The history in the SQLite file. Leases count by the boot clock and people by the wall clock: what a row of a lease
 * says is translated by both as they stand.
 */
import type { HistoryEntry, HistoryStore } from '../../election/history-store.ts'
import { recordsOf, type StoredTenure } from '../../election/history-view.ts'
import type { TenureRecord } from '../../election/status.ts'
import { type Attempt, type Contended, type Predecessor, StoreError } from '../store.ts'
import type { Connection } from './connection.ts'
import type { BootTime } from './lease.ts'
import type { Row } from './statements.ts'

/** Both clocks at one moment. */
export interface Present {
  readonly time: BootTime
  readonly dateMs: number
}

/** What the store lends for one request: its connection, the lease that is stored, and the clocks. */
export interface Lent extends Present {
  readonly connection: Connection
  readonly lease: Row | null
}

type Lend = <T>(election: string, attempt: Attempt, body: (lent: Lent) => T) => T | Contended

const MISSING_TABLE = /no such table: (main\.)?history/

export class SqliteHistory implements HistoryStore {
  readonly #lend: Lend
  readonly #path: string

  constructor(path: string, lend: Lend) {
    this.#path = path
    this.#lend = lend
  }

  async write(election: string, entry: HistoryEntry, attempt: Attempt): Promise<'written' | 'contended'> {
    const outcome = this.#request(election, attempt, (lent) => {
      lent.connection.transaction(() => tell(election, entry, lent))
      return 'written' as const
    })
    return outcome === 'written' ? 'written' : 'contended'
  }

  async read(election: string, most: number, attempt: Attempt): Promise<readonly TenureRecord[]> {
    const outcome = this.#request(election, attempt, (lent) => {
      const rows = lent.connection.history.read(election, most).toReversed()
      return recordsOf(rows.map((row) => joined(row, lent)))
    })
    if (!('kind' in outcome)) return outcome
    throw new StoreError('unavailable', `${this.#path} is locked by another process`, { cause: null })
  }

  #request<T>(election: string, attempt: Attempt, body: (lent: Lent) => T): T | Contended {
    try {
      return this.#lend(election, attempt, body)
    } catch (error) {
      if (!(error instanceof StoreError && MISSING_TABLE.test(error.message))) throw error
      throw new StoreError(
        'schema',
        `${this.#path} has lost its table history: stop every sidecar that uses it, move it away, and start them again`,
        { cause: error },
      )
    }
  }
}

function tell(election: string, entry: HistoryEntry, { connection, dateMs }: Lent): void {
  const { generation, holder, writer, reason, untilMs, leaderlessMs, before } = entry
  connection.history.tellOwn(election, writer, {
    generation,
    holder,
    fromMs: Math.round(entry.fromMs),
    untilMs: whole(untilMs),
    reason,
    leaderlessMs: whole(leaderlessMs),
  })
  if (before === null) return
  connection.history.tellBefore(election, {
    generation: before.generation,
    holder: before.holder,
    fromMs: Math.round(before.fromMs),
    untilMs: Math.round(before.untilMs),
    reason: before.ended,
  })
  connection.history.prune(election, dateMs)
}

function whole(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms)
}

/** A row of the history with what the lease says of it. */
function joined(row: Omit<StoredTenure, 'lease'>, { lease, time, dateMs }: Lent): StoredTenure {
  if (lease?.generation !== row.generation) return { ...row, lease: 'past' }
  const untilMs = row.untilMs ?? freedMs(lease, { time, dateMs })
  if (lease.session === null) return { ...row, untilMs, lease: 'released' }
  return { ...row, untilMs, lease: untilMs === null ? 'held' : 'expired' }
}

/** When a lease became free, by the wall clock; null while it is held, and where the clocks cannot tell. */
export function freedMs(lease: Row, { time, dateMs }: Present): number | null {
  if (lease.clockId !== time.clockId) return null
  const freedBootMs = lease.session === null ? lease.releasedBootMs : lease.expiresBootMs
  if (freedBootMs === null || freedBootMs > Math.floor(time.bootMs)) return null
  return onWall(freedBootMs, { time, dateMs })
}

function onWall(bootMs: number, { time, dateMs }: Present): number {
  return Math.round(dateMs - (time.bootMs - bootMs))
}

/** What the row of a lease tells of the tenure that an acquire found there; null where the clocks cannot tell. */
export function predecessorOf(row: Row | null, present: Present): Predecessor | null {
  const { time, dateMs } = present
  if (row === null || row.clockId !== time.clockId) return null
  const { generation, holder, session, acquiredBootMs } = row
  const freedBootMs = session === null ? row.releasedBootMs : row.expiresBootMs
  if (freedBootMs === null) return null
  const wentFree = freedBootMs <= Math.floor(time.bootMs)
  return {
    generation,
    holder,
    fromMs: onWall(acquiredBootMs, present),
    untilMs: wentFree ? onWall(freedBootMs, present) : Math.round(dateMs),
    ended: session === null ? 'released' : wentFree ? 'expired' : 'unknown',
  }
}
