/** What tests of the PostgreSQL store share: a migrated database, and stores on it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Clock } from '../../src/clock/clock.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { TenureKey } from '../../src/election/tenure.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import { open } from '../../src/stores/postgres/store.ts'
import {
  type Attempt,
  type Candidate,
  type Granted,
  type LeaseStore,
  StoreError,
  type StoreErrorKind,
  type StoreSettings,
} from '../../src/stores/store.ts'
import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts'

const CONDITION_TIMEOUT_MS = 10_000
const CONDITION_POLL_MS = 10

export interface OpenOptions {
  readonly url?: string
  readonly clock?: Clock
  readonly settings?: Partial<StoreSettings>
}

/** A server with one migrated database, for one test file. */
export class PostgresBench {
  readonly server: PostgresServer
  readonly database: string
  readonly url: string
  /** What the stores said. */
  readonly notes: string[] = []
  readonly #stores: LeaseStore[] = []
  readonly #clients: pg.Client[] = []

  private constructor(server: PostgresServer, database: string) {
    this.server = server
    this.database = database
    this.url = server.url(database)
  }

  static async start(options: PostgresOptions = {}): Promise<PostgresBench> {
    const server = await startPostgres(options)
    const bench = new PostgresBench(server, await server.createDatabase())
    await migrate(settingsFor(bench.url), bench.context())
    // Also after a test that failed: its open transaction must not hold up the next.
    afterEach(() => bench.closeAll())
    after(() => server.dispose())
    return bench
  }

  /** Closes every store and session that was opened. */
  async closeAll(): Promise<void> {
    await Promise.all(this.#stores.splice(0).map((store) => store.close()))
    for (const client of this.#clients.splice(0)) client.connection.stream.destroy()
  }

  context(clock: Clock = systemClock()): { clock: Clock; note: (message: string) => void } {
    return { clock, note: (message) => this.notes.push(message) }
  }

  async open({ url = this.url, clock, settings }: OpenOptions = {}): Promise<LeaseStore> {
    const store = await open({ ...settingsFor(url), ...settings }, this.context(clock))
    this.#stores.push(store)
    return store
  }

  /** Runs statements as the superuser, in the migrated database. */
  sql<Row extends pg.QueryResultRow>(text: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.server.query<Row>(text, parameters, this.database)
  }

  /** A session of its own as the superuser, for transactions that stay open. */
  async session(): Promise<pg.Client> {
    const client = new pg.Client(this.url)
    client.on('error', () => client.connection.stream.destroy())
    await client.connect()
    await client.query(`SET lock_timeout = ${CONDITION_TIMEOUT_MS}`)
    this.#clients.push(client)
    return client
  }

  /** The whole row as text; null when there is none. */
  async row(election: string): Promise<string | null> {
    const text = 'SELECT row_to_json(l)::text AS row FROM tenure.lease l WHERE election = $1'
    const [found] = await this.sql<{ row: string }>(text, [election])
    return found?.row ?? null
  }

  /** Milliseconds that the tenure still has on the server's clock. */
  async leftMs(election: string): Promise<number> {
    const text =
      'SELECT (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 AS left FROM tenure.lease WHERE election = $1'
    const [found] = await this.sql<{ left: number }>(text, [election])
    assert.ok(found !== undefined)
    return found.left
  }

  /** The server processes that serve stores, newest last. */
  async backends(): Promise<readonly number[]> {
    const rows = await this.sql<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'tenure' AND datname = current_database() ORDER BY backend_start`,
    )
    return rows.map(({ pid }) => pid)
  }
}

export function settingsFor(url: string): StoreSettings {
  return { url, password: null, passwordFile: null }
}

export function newElection(): string {
  return `election-${randomUUID()}`
}

export function newCandidate(identity = 'somebody'): Candidate {
  return { identity, session: randomUUID() }
}

/** An attempt that is given up after its time, as a driver would. */
export function attempt(timeoutMs = 5_000): Attempt {
  return { timeoutMs, signal: AbortSignal.timeout(timeoutMs) }
}

/** Acquires until it is granted or refused, and asserts that it was granted. */
export async function win(
  store: LeaseStore,
  election: string,
  candidate: Candidate,
  { ttlMs = 10_000, above = 0 }: { ttlMs?: number; above?: number } = {},
): Promise<TenureKey & Granted> {
  const giveUpAt = performance.now() + CONDITION_TIMEOUT_MS
  let result = await store.acquire(election, candidate, { ttlMs, above }, attempt())
  while (result.kind === 'contended' && performance.now() < giveUpAt) {
    result = await store.acquire(election, candidate, { ttlMs, above }, attempt())
  }
  assert.equal(result.kind, 'granted', JSON.stringify(result))
  return { ...(result as Granted), election, session: candidate.session }
}

/** Asserts that a request fails with this kind of error, and answers its message. */
export async function failsWith(request: Promise<unknown>, kind: StoreErrorKind): Promise<string> {
  const outcome = await request.then(
    (value) => assert.fail(`did not fail: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  assert.ok(outcome instanceof StoreError, String(outcome))
  assert.equal(outcome.kind, kind, outcome.message)
  return outcome.message
}

/** Waits until something is so, and fails when it does not become so. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const giveUpAt = performance.now() + CONDITION_TIMEOUT_MS
  while (!(await holds())) {
    assert.ok(performance.now() < giveUpAt, `not within ${CONDITION_TIMEOUT_MS} ms: ${what}`)
    await sleep(CONDITION_POLL_MS)
  }
}

/** How long `work` takes. */
export async function timed<T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number }> {
  const from = performance.now()
  const result = await work()
  return { result, tookMs: performance.now() - from }
}
