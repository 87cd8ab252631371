/** What tests of work leases share: a server, and tables of jobs with work leases on them. */
import assert from 'node:assert/strict'
import { after, afterEach } from 'node:test'
import pg from 'pg'
import { columnsScript } from '../../src/work/columns.ts'
import { type Item, type JournalEntry, sql, WorkTable, type WorkTableOptions } from '../../src/work/index.ts'
import { parseTable } from '../../src/work/names.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { until } from '../support/sidecar.ts'

export const LEASE_MS = 30_000
/** A statement that waits where it must not ends here. */
export const SUITE_MOST_MS = 20_000

export interface Job {
  readonly id: string
  readonly step: number
  readonly note: string | null
  readonly due_at: Date
  readonly firing: boolean
}

export interface Jobs {
  readonly table: string
  readonly work: WorkTable<Job>
  readonly journal: readonly JournalEntry[]
}

export class WorkBench {
  readonly server: PostgresServer
  readonly database: string
  readonly pool: pg.Pool
  readonly #clients: pg.Client[] = []
  #tables = 0

  private constructor(server: PostgresServer, database: string) {
    this.server = server
    this.database = database
    this.pool = new pg.Pool({ connectionString: server.url(database), max: 12 })
    // A session that is on its way out when the server stops.
    this.pool.on('error', () => undefined)
  }

  static async start(): Promise<WorkBench> {
    const server = await startPostgres()
    const bench = new WorkBench(server, await server.createDatabase())
    // Also after a test that failed: its open transaction must not hold up the next.
    afterEach(async () => {
      for (const client of bench.#clients.splice(0)) await client.end()
    })
    after(async () => {
      await bench.pool.end()
      await server.dispose()
    })
    return bench
  }

  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(text, values)).rows
  }

  /** A connection of its own, which ends with the test. */
  async client(url = this.server.url(this.database)): Promise<pg.Client> {
    const one = new pg.Client(url)
    this.#clients.push(one)
    await one.connect()
    return one
  }

  /** A table of `rows` jobs that are due, its name, and work leases on it. */
  async jobs(rows: number, options: Partial<WorkTableOptions> = {}): Promise<Jobs> {
    const table = `public.jobs_${++this.#tables}`
    await this.query(`CREATE TABLE ${table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      step integer NOT NULL DEFAULT 0 CHECK (step < 100), note text,
      due_at timestamptz NOT NULL DEFAULT clock_timestamp(), firing boolean NOT NULL DEFAULT true)`)
    await this.query(`INSERT INTO ${table} (note) SELECT 'job ' || n FROM generate_series(1, ${rows}) n`)
    await this.query(columnsScript(parseTable(table)))
    const journal: JournalEntry[] = []
    const work = new WorkTable<Job>({
      table,
      key: 'id',
      due: sql`due_at <= clock_timestamp()`,
      leaseMs: LEASE_MS,
      lifeMs: 2 * LEASE_MS,
      journal: (entry) => journal.push(entry),
      ...options,
    })
    return { table, work, journal }
  }

  /** Every byte of the rows, and the transactions that wrote them. */
  image(table: string): Promise<unknown[]> {
    return this.query(`SELECT r::text, xmin::text, ctid::text FROM ${table} r ORDER BY id`)
  }

  expireAll(table: string): Promise<unknown[]> {
    return this.query(
      `UPDATE ${table} SET leased_until = clock_timestamp() - interval '1 ms' WHERE leased_until IS NOT NULL`,
    )
  }

  /** Waits until some statement waits for the table. */
  async tableWaitedFor(table: string): Promise<void> {
    await until('a statement waits for the table', async () => {
      const rows = await this.query(
        `SELECT FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`,
      )
      return rows.length === 0 ? null : true
    })
  }

  /** Waits until some statement waits for a row. */
  async rowWaitedFor(): Promise<void> {
    await until('a statement waits for a row', async () => {
      const rows = await this.query(`SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`)
      return rows.length === 0 ? null : true
    })
  }
}

/** The first of what was claimed. */
export async function one<Row>(claimed: Promise<Item<Row>[]>): Promise<Item<Row>> {
  const [item] = await claimed
  assert.ok(item !== undefined, 'something was claimed')
  return item
}
