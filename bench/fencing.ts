/** What each guard costs: the median of a guarded write over the same write unguarded, on one connection, in turns. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { systemClock } from '../src/clock/system-clock.ts'
import { type Fence, guardedQuery, withFence, withGuard, withResourceGuard } from '../src/fencing/index.ts'
import { migrate } from '../src/stores/postgres/migrate.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { median, print } from './rig.ts'

const ROUNDS = 400
const BULK_ROUNDS = 12
const BULK_ROWS = 10_000

const UPDATE = 'UPDATE item SET note = note + 1 WHERE id = 1'
const BULK = 'INSERT INTO bulk SELECT i, 0 FROM generate_series(1, $1) i'

type Write = () => Promise<unknown>

interface Pair {
  readonly name: string
  readonly bare: Write
  readonly guarded: Write
}

export async function fencing(): Promise<void> {
  for (const fsync of ['on', 'off']) {
    // "off" leaves nothing but the work itself to compare with.
    const server = await startPostgres({ settings: { fsync } })
    try {
      print(`guards, fsync ${fsync}:`)
      await measureAll(server.url('postgres'))
    } finally {
      await server.dispose()
    }
  }
}

async function measureAll(url: string): Promise<void> {
  await migrate({ url, password: null, passwordFile: null }, { clock: systemClock(), note: () => undefined })
  const client = new pg.Client(url)
  await client.connect()
  const fence = { election: 'bench', session: randomUUID(), generation: 1 }
  await prepare(client, fence)
  for (const pair of pairs(client, fence)) await report(pair, ROUNDS)
  for (const pair of bulkPairs(client, fence)) await report(pair, BULK_ROUNDS)
  await client.end()
}

async function prepare(client: pg.Client, { election, session }: Fence): Promise<void> {
  await client.query(
    `CREATE TABLE item (id integer PRIMARY KEY, note integer, fence bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
    CREATE TABLE guarded (LIKE item INCLUDING ALL) WITH (fillfactor = 50);
    CREATE TABLE bulk (id integer, note integer);
    CREATE TABLE bulk_guarded (LIKE bulk);
    INSERT INTO item VALUES (1, 0); INSERT INTO guarded VALUES (1, 0)`,
  )
  await client.query(
    `INSERT INTO tenure.lease (election, session, holder, generation, expires_at, ttl_ms)
    VALUES ($1, $2, 'bench', 1, clock_timestamp() + interval '1 hour', 15000)`,
    [election, session],
  )
  await client.query(`SELECT tenure.guard_table('guarded', $1), tenure.guard_table('bulk_guarded', $1)`, [
    election,
  ])
}

function pairs(client: pg.Client, fence: Fence): Pair[] {
  const transaction = inTransaction(client, UPDATE)
  const alone = () => client.query(UPDATE)
  return [
    {
      name: 'strict guard, a transaction of one update',
      bare: transaction,
      guarded: () => withGuard(client, fence, () => client.query(UPDATE)),
    },
    {
      name: 'one statement',
      bare: alone,
      guarded: () => guardedQuery(client, fence, `${UPDATE} AND (SELECT ok FROM tenure_guard)`),
    },
    {
      name: 'table guard, a transaction of one update',
      bare: transaction,
      guarded: () => withFence(client, fence, () => client.query(UPDATE.replace('item', 'guarded'))),
    },
    {
      name: 'high-water guard, a transaction of one update',
      bare: transaction,
      guarded: () => withResourceGuard(client, fence, ['item'], () => client.query(UPDATE)),
    },
    {
      name: 'inline predicate',
      bare: alone,
      guarded: () =>
        client.query('UPDATE item SET note = note + 1, fence = $1 WHERE id = 1 AND fence <= $1', [1]),
    },
  ]
}

function bulkPairs(client: pg.Client, fence: Fence): Pair[] {
  return [
    {
      name: `table guard, an insert of ${BULK_ROWS} rows`,
      bare: inTransaction(client, BULK, [BULK_ROWS]),
      guarded: () =>
        withFence(client, fence, () => client.query(BULK.replace('bulk', 'bulk_guarded'), [BULK_ROWS])),
    },
  ]
}

function inTransaction(client: pg.Client, text: string, values: unknown[] = []): Write {
  return async () => {
    await client.query('BEGIN')
    await client.query(text, values)
    await client.query('COMMIT')
  }
}

async function report({ name, bare, guarded }: Pair, rounds: number): Promise<void> {
  const [bareMs, guardedMs]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    bareMs.push(await timedMs(bare))
    guardedMs.push(await timedMs(guarded))
  }
  const ratio = median(guardedMs) / median(bareMs)
  print(
    `  ${name}: ${ratio.toFixed(2)} × (${median(guardedMs).toFixed(2)} ms against ${median(bareMs).toFixed(2)} ms)`,
  )
}

async function timedMs(write: Write): Promise<number> {
  const from = performance.now()
  await write()
  return performance.now() - from
}
