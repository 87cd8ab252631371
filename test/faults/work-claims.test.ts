/** Claims on a real PostgreSQL: who gets which row, and for how long. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { columnsScript } from '../../src/work/columns.ts'
import { type Database, sql, WorkTable } from '../../src/work/index.ts'
import { parseTable } from '../../src/work/names.ts'
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { queryUrl } from '../support/postgres.ts'
import { until } from '../support/sidecar.ts'
import { LEASE_MS, one, SUITE_MOST_MS, WorkBench } from './work-bench.ts'

const bench = await WorkBench.start()
const { pool, server, database } = bench
const query: WorkBench['query'] = (text, values) => bench.query(text, values)
const jobs: WorkBench['jobs'] = (rows, options) => bench.jobs(rows, options)
const client: WorkBench['client'] = (url) => bench.client(url)

describe('a claim', { timeout: SUITE_MOST_MS }, () => {
  it('of n never takes n + 1, and five rows get five tokens', async () => {
    const { table, work } = await jobs(12)
    const items = await work.claim(pool, { limit: 5 })
    assert.deepEqual(
      items.map(({ key }) => key),
      ['1', '2', '3', '4', '5'],
    )
    assert.equal(new Set(items.map(({ token }) => token)).size, 5)
    const rows = await query<{ id: string; lease_token: string }>(
      `SELECT id::text, lease_token::text FROM ${table} WHERE leased_until IS NOT NULL ORDER BY id`,
    )
    assert.deepEqual(
      rows.map(({ id, lease_token }) => [id, lease_token]),
      items.map(({ key, token }) => [key, token]),
    )
  })

  it('by many at once takes each row once, and never more than its limit', async () => {
    const { work } = await jobs(200)
    const batches = await Promise.all(Array.from({ length: 60 }, () => work.claim(pool, { limit: 7 })))
    assert.ok(batches.every(({ length }) => length <= 7))
    const keys = batches.flat().map(({ key }) => key)
    assert.equal(new Set(keys).size, keys.length)
    assert.ok(keys.length > 50, `${keys.length} rows`)
  })

  it('passes over a row that somebody has locked, without waiting', async () => {
    const { table, work } = await jobs(2)
    const rival = await client()
    await rival.query('BEGIN')
    await rival.query(`SELECT FROM ${table} WHERE id = 1 FOR UPDATE`)
    assert.deepEqual(
      (await work.claim(pool, { limit: 2 })).map(({ key }) => key),
      ['2'],
    )
  })

  it('lasts its whole lease also when the statement had to wait', async () => {
    const { table, work } = await jobs(1)
    const rival = await client()
    await rival.query('BEGIN')
    await rival.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    const waiting = work.claim(pool, { limit: 1 })
    await bench.tableWaitedFor(table)
    await rival.query('SELECT pg_sleep(0.3)')
    await rival.query('COMMIT')
    await one(waiting)
    const [row] = await query<{ left: string }>(
      `SELECT extract(epoch FROM leased_until - clock_timestamp()) * 1000 AS left FROM ${table}`,
    )
    assert.ok(Number(row?.left) > LEASE_MS - 250, `${row?.left} ms`)
  })

  it('reads the row, keys as text, and only the columns that were asked for', async () => {
    const { work, table } = await jobs(1)
    const { key, row, claimedAt } = await one(work.claim(pool, { limit: 1 }))
    assert.equal(key, '1')
    assert.equal(row.note, 'job 1')
    assert.ok(row.due_at instanceof Date)
    assert.ok(!Object.keys(row).some((name) => name.startsWith('tenure_')))
    const [now] = await query<{ ago: string }>(
      `SELECT extract(epoch FROM clock_timestamp() - $1::timestamptz) AS ago`,
      [claimedAt],
    )
    assert.ok(Number(now?.ago) >= 0 && Number(now?.ago) < 5, `${now?.ago} s ago`)

    await query(`UPDATE ${table} SET leased_until = NULL`)
    const narrow = new WorkTable({ table, key: 'id', leaseMs: 1, lifeMs: 1, columns: ['step'] })
    assert.deepEqual((await one(narrow.claim(pool, { limit: 1 }))).row, { step: 0 })
  })

  it('takes what is due, in the order that was asked for', async () => {
    const { table, work } = await jobs(4, { orderBy: sql`item.step DESC, id` })
    await query(`UPDATE ${table} SET step = id`)
    await query(`UPDATE ${table} SET due_at = clock_timestamp() + interval '1 hour' WHERE id = 4`)
    assert.deepEqual(
      (await work.claim(pool, { limit: 2 })).map(({ key }) => key),
      ['3', '2'],
    )
  })

  it('takes a row again once its lease ran out, and says so', async () => {
    const { table, work, journal } = await jobs(1)
    const first = await one(work.claim(pool, { limit: 1 }))
    assert.equal(first.retaken, false)
    assert.deepEqual(await work.claim(pool, { limit: 1 }), [])
    await bench.expireAll(table)
    const second = await one(work.claim(pool, { limit: 1 }))
    assert.equal(second.retaken, true)
    assert.notEqual(second.token, first.token)
    assert.deepEqual(
      journal.map(({ op, result, token }) => [op, result, token]),
      [
        ['claim', 'claimed', first.token],
        ['claim', 'retaken', second.token],
      ],
    )
  })

  it('of a runner that is gone keeps its rows for one lease, and no longer', async () => {
    const { work } = await jobs(1, { leaseMs: 300, lifeMs: 300 })
    const gone = await one(work.claim(pool, { limit: 1 }))
    const next = await until(
      'the row is taken again',
      async () => (await work.claim(pool, { limit: 1 }))[0] ?? null,
    )
    const passedMs = Date.parse(next.claimedAt) - Date.parse(gone.claimedAt)
    assert.ok(passedMs >= 300 && passedMs < 1_300, `${passedMs} ms`)
  })

  it('is judged by leased_until alone: rows leased before there was a token come back when it has passed', async () => {
    const table = 'public.older'
    await query(`CREATE TABLE ${table} (id integer PRIMARY KEY, leased_until timestamptz)`)
    await query(`INSERT INTO ${table} VALUES (1, NULL), (2, clock_timestamp() - interval '1 s'),
      (3, clock_timestamp() + interval '1 hour')`)
    await query(columnsScript(parseTable(table)))
    const work = new WorkTable({ table, key: 'id', leaseMs: LEASE_MS, lifeMs: LEASE_MS })
    const items = await work.claim(pool, { limit: 5 })
    assert.deepEqual(
      items.map(({ key, retaken }) => [key, retaken]),
      [
        ['1', false],
        ['2', true],
      ],
    )
    assert.ok((await work.complete(pool, items)).every(({ applied }) => applied))
    const [other] = await query<{ lease_token: null }>(`SELECT lease_token FROM ${table} WHERE id = 3`)
    assert.equal(other?.lease_token, null)
  })

  it('that lost a race under a stricter isolation is an empty claim, and no error', async () => {
    const { table, work } = await jobs(1)
    const strict = await client()
    await strict.query(`SET default_transaction_isolation = 'repeatable read'`)
    const rival = await client()
    await rival.query('BEGIN')
    await rival.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    // The claim's snapshot is older than what the rival writes while it waits for the table.
    const claiming = work.claim(strict, { limit: 1 })
    await bench.tableWaitedFor(table)
    await rival.query(`UPDATE ${table} SET note = 'other'`)
    await rival.query('COMMIT')
    assert.deepEqual(await claiming, [])
    assert.equal((await work.claim(strict, { limit: 1 })).length, 1)
  })

  it('that lost a race in a transaction of the caller throws, for that transaction can no longer commit', async () => {
    const { table, work } = await jobs(1)
    const strict = await client()
    // As a client that cannot tell, and as `pg` does.
    for (const db of [{ query: strict.query.bind(strict) as Database['query'] }, strict]) {
      await strict.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await strict.query(`SELECT FROM ${table}`)
      await query(`UPDATE ${table} SET note = 'other'`)
      await assert.rejects(work.claim(db, { limit: 1 }), { code: '40001' })
      assert.equal((await strict.query('COMMIT')).command, 'ROLLBACK')
    }
    assert.equal((await work.claim(strict, { limit: 1 })).length, 1)
  })
})

describe('a table', { timeout: SUITE_MOST_MS }, () => {
  for (const [type, keys] of Object.entries({
    uuid: [randomUUID(), randomUUID()],
    text: [`a "quoted", {braced} \\ key'; DROP TABLE jobs`, 'ü'],
    bigint: ['9007199254740993', '-1'],
    'varchar(20)': ['x', 'y,z'],
  })) {
    it(`may have keys of type ${type}, and names that need quotes`, async () => {
      const table = `"od.d"."Ta""ble ${type}"`
      await query('CREATE SCHEMA IF NOT EXISTS "od.d"')
      await query(`CREATE TABLE ${table} ("the Key" ${type} PRIMARY KEY, "se;t" integer)`)
      await query(columnsScript(parseTable(table)))
      for (const key of keys) await query(`INSERT INTO ${table} VALUES ($1)`, [key])
      const work = new WorkTable({ table, key: 'the Key', leaseMs: LEASE_MS, lifeMs: LEASE_MS })
      const items = await work.claim(pool, { limit: 3 })
      assert.deepEqual(items.map(({ key }) => key).sort(), [...keys].sort())
      const outcomes = await work.apply(pool, items, { set: { 'se;t': 4 } })
      assert.ok(outcomes.every(({ applied }) => applied))
    })
  }
})

const pgbouncer = await findPgbouncer()
it('through PgBouncer in transaction mode a whole life of a claim works, and leaves no settings behind', {
  skip: pgbouncer === null && 'pgbouncer is not installed',
}, async (t) => {
  const pooler = await startPgbouncer(pgbouncer ?? '', server)
  t.after(() => pooler.stop())
  const { work } = await jobs(30)
  const each = async (db: Database): Promise<number> => {
    const items = await work.claim(db, { limit: 3 })
    await work.extend(db, items)
    return (await work.complete(db, items)).filter(({ applied }) => applied).length
  }
  const sessions = await Promise.all(Array.from({ length: 8 }, () => client(pooler.url(database))))
  const done = await Promise.all(sessions.map(each))
  assert.equal(
    done.reduce((sum, n) => sum + n, 0),
    24,
  )
  for (const session of sessions) {
    assert.deepEqual((await session.query('SHOW lock_timeout')).rows, [{ lock_timeout: '0' }])
  }
})

it('the plain SQL of the docs claims and applies, and its claims are those of the library', async () => {
  const docs = await readFile(new URL('../../docs/work.md', import.meta.url), 'utf8')
  const [, claim = '', apply = ''] =
    /```sql\n(-- claim[\s\S]*?;)\n\n(-- apply[\s\S]*?;)\n```/.exec(docs) ?? []
  await query('CREATE SCHEMA app')
  await query(`CREATE TABLE app.jobs (id bigint PRIMARY KEY, attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(), wanted boolean NOT NULL DEFAULT true)`)
  await query('INSERT INTO app.jobs SELECT generate_series(1, 8)')
  await query(columnsScript(parseTable('app.jobs')))
  const rows = await query<{ id: string; lease_token: string }>(claim, [5, LEASE_MS])
  assert.equal(rows.length, 5)
  assert.equal(new Set(rows.map(({ lease_token }) => lease_token)).size, 5)
  const [first, second, third] = rows
  assert.ok(first && second && third)
  assert.equal((await query(apply, [first.id, first.lease_token])).length, 1)
  assert.deepEqual(await query(apply, [first.id, first.lease_token]), [])
  await query('UPDATE app.jobs SET wanted = false WHERE id = $1', [second.id])
  assert.deepEqual(await query(apply, [second.id, second.lease_token]), [])
  const work = new WorkTable({ table: 'app.jobs', key: 'id', leaseMs: LEASE_MS, lifeMs: LEASE_MS })
  assert.equal((await work.claim(pool, { limit: 8 })).length, 4)
  assert.equal((await work.complete(pool, { key: third.id, token: third.lease_token })).result, 'applied')
})

it('is usable with a client of its own, and over a URL', async () => {
  const { table, work } = await jobs(1)
  const item = await one(work.claim(await client(), { limit: 1 }))
  const [row] = await queryUrl<{ lease_token: string }>(
    server.url(database),
    `SELECT lease_token FROM ${table}`,
  )
  assert.equal(row?.lease_token, item.token)
})
