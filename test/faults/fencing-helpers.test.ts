import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, it } from 'node:test'
import pg from 'pg'
import {
  type Connection,
  guard,
  guardedQuery,
  guardResources,
  staleOf,
  withFence,
  withGuard,
  withResourceGuard,
} from '../../src/fencing/index.ts'
import { FencingBench, type Led } from '../support/fencing-bench.ts'
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'

const bench = await FencingBench.start()
const pool = new pg.Pool({ connectionString: bench.applicationUrl, max: 3 })
let led: Led
beforeEach(async () => {
  led = await bench.lead()
  await bench.postgres.sql(`DROP TABLE IF EXISTS jobs; CREATE TABLE jobs (id integer PRIMARY KEY, note text);
    GRANT ALL ON jobs TO tenure_application`)
})
afterEach(() => bench.closeAll())
// Before the server goes, or its end would be an error of an idle connection.
process.once('beforeExit', () => pool.end())
pool.on('error', () => undefined)

const insert = (connection: Connection) => connection.query('INSERT INTO jobs VALUES (1)')
const count = async () => (await bench.postgres.sql('SELECT FROM jobs')).length
const STALE = { ok: false, reason: 'stale', current: { generation: 2, holder: 'web-2' } } as const

const FORMS = {
  withGuard: (db: pg.Pool | pg.Client, work = insert) => withGuard(db, led.fence, work),
  withFence: (db: pg.Pool | pg.Client, work = insert) => withFence(db, led.fence, work),
} as const

for (const [name, run] of Object.entries(FORMS)) {
  describe(`${name}`, () => {
    beforeEach(() => bench.postgres.sql(`SELECT tenure.guard_table('jobs', $1)`, [led.fence.election]))
    // A strict transaction may also write to a guarded table, once it has said so.
    const work = name === 'withGuard' ? insertFenced : insert

    for (const [what, open] of [
      ['a pool', async () => pool],
      ['a client', () => bench.connect()],
    ] as const) {
      it(`over ${what} commits the work of the present tenure, and gives its value`, async () => {
        const result = await run(await open(), work)
        assert.ok(result.ok)
        assert.equal(result.value.rowCount, 1)
        assert.equal(await count(), 1)
      })

      it(`over ${what} writes nothing for an old tenure, names the present one, and leaves the connection usable`, async () => {
        await led.deposed()
        const database = await open()
        assert.deepEqual(await run(database, work), STALE)
        assert.equal(await count(), 0)
        assert.deepEqual((await database.query('SELECT 1 AS one')).rows, [{ one: 1 }])
      })

      it(`over ${what} rolls back and throws what the work throws`, async () => {
        const database = await open()
        const failing = run(database, async (connection) => {
          await work(connection)
          throw new Error('no more paper')
        })
        await assert.rejects(failing, /no more paper/)
        assert.equal(await count(), 0)
        assert.deepEqual((await database.query('SELECT 1 AS one')).rows, [{ one: 1 }])
      })
    }
  })
}

async function insertFenced(connection: Connection) {
  await connection.query(`SELECT set_config('tenure.fence', $1, true)`, [led.setting])
  return insert(connection)
}

describe('withGuard', () => {
  it('does not call the work of an old tenure', async () => {
    await led.deposed()
    let called = false
    await withGuard(pool, led.fence, async () => {
      called = true
    })
    assert.equal(called, false)
  })

  it('makes a takeover wait while its work runs', async () => {
    await withGuard(pool, led.fence, async () => {
      await led.runOut()
      assert.equal((await led.contend()).kind, 'contended')
    })
    await led.takenOver()
  })

  it('says so where the work swallowed an error: nothing was written', async () => {
    const result = withGuard(pool, led.fence, async (connection) => {
      await insert(connection)
      await insert(connection).catch(() => undefined)
    })
    await assert.rejects(result, /nothing was written: an error inside the transaction was caught/)
    assert.equal(await count(), 0)
  })

  it('outlasting the ttl is ended by the server: an error for its caller, none for the process', async () => {
    const short = await bench.lead('web-1', 400)
    const result = withGuard(pool, short.fence, async (connection) => {
      await insert(connection)
      await new Promise((resolve) => connection.on('error', resolve))
      return insert(connection)
    })
    await assert.rejects(result)
    assert.equal(await count(), 0)
    assert.equal((await withGuard(pool, led.fence, insert)).ok, true)
  })

  for (const isolation of ['repeatable read', 'serializable'] as const) {
    it(`works under ${isolation}`, async () => {
      assert.equal((await withGuard(pool, led.fence, insert, { isolation })).ok, true)
      await led.deposed()
      assert.deepEqual(await withGuard(pool, led.fence, insert, { isolation }), STALE)
    })
  }

  it('refuses a second transaction on a connection while the first one runs', async () => {
    const client = await bench.connect()
    const first = withGuard(client, led.fence, insert)
    await assert.rejects(withGuard(client, led.fence, insert), /in a transaction already/)
    assert.equal((await first).ok, true)
  })

  it('takes its connection back: a branch that nobody waited for writes nothing afterwards', async () => {
    let late: Promise<unknown> = Promise.resolve()
    const work = async (connection: Connection) => {
      late = assert.rejects(
        new Promise((resolve) => setImmediate(resolve)).then(() => insert(connection)),
        /the fenced transaction is over/,
      )
      throw new Error('the other branch failed')
    }
    const failed = withGuard(pool, led.fence, work)
    await assert.rejects(failed, /the other branch failed/)
    await late
    assert.equal(await count(), 0)
  })

  for (const text of [
    'COMMIT',
    ' end',
    'begin',
    'ROLLBACK',
    'START TRANSACTION',
    `PREPARE TRANSACTION 'x'`,
  ]) {
    it(`refuses ${text} inside its work, and writes nothing`, async () => {
      const work = async (connection: Connection) => {
        await insert(connection)
        await connection.query(text)
      }
      await assert.rejects(withGuard(pool, led.fence, work), /begun and ended around this work/)
      assert.equal(await count(), 0)
    })
  }

  it('notices a transaction that the work ended in another way', async () => {
    const work = (connection: Connection) => connection.query('INSERT INTO jobs VALUES (1); COMMIT')
    await assert.rejects(withGuard(pool, led.fence, work), /the work ended its fenced transaction/)
  })

  it('lets savepoints and other members of the connection through', async () => {
    const result = await withGuard(pool, led.fence, async (connection) => {
      await connection.query('SAVEPOINT s')
      await insert(connection)
      await connection.query('ROLLBACK TO s')
      return (connection as pg.PoolClient).escapeLiteral("it's")
    })
    assert.deepEqual(result, { ok: true, value: "'it''s'" })
  })

  it('destroys a pooled connection that somebody left inside a transaction', async () => {
    const small = new pg.Pool({ connectionString: bench.applicationUrl, max: 1 })
    try {
      const leaky = await small.connect()
      await leaky.query('BEGIN')
      leaky.release()
      await assert.rejects(withGuard(small, led.fence, insert), /in a transaction already/)
      assert.equal((await withGuard(small, led.fence, insert)).ok, true)
    } finally {
      await small.end()
    }
  })

  it('refuses to begin inside a transaction of the caller, and leaves that alone', async () => {
    const client = await bench.begin()
    await insert(client)
    await assert.rejects(withGuard(client, led.fence, insert), /in a transaction already.*guard\(\)/)
    await client.query('COMMIT')
    assert.equal(await count(), 1)
  })

  it('takes no answer "not leading" for a tenure', async () => {
    const fences = [
      { ...led.fence, generation: null as unknown as number },
      { ...led.fence, session: null as unknown as string },
      { ...led.fence, election: '' },
      { ...led.fence, generation: 0 },
      { ...led.fence, generation: 1.5 },
      { ...led.fence, session: 'me' },
    ]
    for (const fence of fences) await assert.rejects(withGuard(pool, fence, insert), TypeError)
    assert.equal(await count(), 0)
  })

  it('works through a pooler in transaction mode', async (t) => {
    const path = await findPgbouncer()
    if (path === null)
      return process.env.CI ? assert.fail('pgbouncer is not installed') : t.skip('pgbouncer is not installed')
    const bouncer = await startPgbouncer(path, bench.postgres.server)
    const pooled = new pg.Pool({ connectionString: bouncer.url(bench.postgres.database), max: 10 })
    try {
      const ids = Array.from({ length: 30 }, (_, i) => i)
      const write = (id: number) =>
        withGuard(pooled, led.fence, (connection) => connection.query('INSERT INTO jobs VALUES ($1)', [id]))
      assert.ok((await Promise.all(ids.map(write))).every(({ ok }) => ok))
      await led.deposed()
      assert.ok((await Promise.all(ids.map((id) => write(id + 100)))).every(({ ok }) => !ok))
      assert.equal(await count(), ids.length)
    } finally {
      await pooled.end()
      await bouncer.stop()
    }
  })
})

describe('guard in an open transaction', () => {
  it('answers stale as a value, and the transaction can then do nothing but roll back', async () => {
    await led.deposed()
    const client = await bench.begin()
    assert.deepEqual(await guard(client, led.fence), STALE)
    await assert.rejects(insert(client), /current transaction is aborted/)
    assert.equal((await client.query('COMMIT')).command, 'ROLLBACK')
  })

  it('answers ok for the present tenure', async () => {
    const client = await bench.begin()
    assert.deepEqual(await guard(client, led.fence), { ok: true, value: undefined })
  })
})

describe('guardedQuery', () => {
  const DELETE = 'DELETE FROM jobs WHERE id = $1 AND (SELECT ok FROM tenure_guard)'
  beforeEach(() => bench.postgres.sql('INSERT INTO jobs VALUES (1), (2)'))

  it('deletes for the present tenure, and tells no row from stale', async () => {
    const gone = await guardedQuery(pool, led.fence, DELETE, [1])
    assert.ok(gone.ok && gone.value.rowCount === 1)
    const none = await guardedQuery(pool, led.fence, DELETE, [1])
    assert.ok(none.ok && none.value.rowCount === 0)
  })

  it('changes nothing for an old tenure, and names the present one', async () => {
    await led.deposed()
    assert.deepEqual(await guardedQuery(pool, led.fence, DELETE, [1]), STALE)
    assert.equal(await count(), 2)
  })

  for (const text of [
    'INSERT INTO jobs SELECT $1::integer + 10 WHERE (SELECT ok FROM tenure_guard) ON CONFLICT (id) DO UPDATE SET note = excluded.note',
    "/* why */ WITH due AS (SELECT $1::integer AS id) -- what\nUPDATE jobs SET note = 'x' FROM due WHERE jobs.id = due.id AND (SELECT ok FROM tenure_guard)",
    'WITH d AS (UPDATE jobs SET note = $1::integer WHERE (SELECT ok FROM tenure_guard) RETURNING id) SELECT count(*) FROM d',
    'UPDATE jobs SET note = $1::integer WHERE (id = 1 OR id = 2) AND (SELECT ok FROM tenure_guard) AND (note IS NULL OR true) RETURNING id',
    'UPDATE jobs SET note = $1::integer WHERE (SELECT ok FROM tenure_guard)',
    'WITH due AS (SELECT id FROM jobs WHERE id = $1) DELETE FROM jobs USING due WHERE jobs.id = due.id AND (SELECT ok FROM tenure_guard)',
    'with recursive n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) UPDATE jobs SET note = $1::integer FROM n WHERE id = i AND ( select ok from tenure_guard )',
  ]) {
    it(`fences: ${text.slice(0, 60)}…`, async () => {
      const done = await guardedQuery(pool, led.fence, text, [1])
      assert.ok(done.ok && (done.value.rowCount ?? 0) > 0)
      await led.deposed()
      const before = await bench.postgres.sql('SELECT * FROM jobs ORDER BY id')
      assert.deepEqual(await guardedQuery(pool, led.fence, text, [1]), STALE)
      assert.deepEqual(await bench.postgres.sql('SELECT * FROM jobs ORDER BY id'), before)
    })
  }

  for (const text of [
    'DELETE FROM jobs',
    'DELETE FROM jobs -- AND (SELECT ok FROM tenure_guard)',
    'DELETE FROM jobs /* x /* AND (SELECT ok FROM tenure_guard) */ */',
    `DELETE FROM jobs WHERE note IS DISTINCT FROM ' AND (SELECT ok FROM tenure_guard)'`,
    'DELETE FROM jobs WHERE note IS DISTINCT FROM $x$ AND (SELECT ok FROM tenure_guard)$x$',
    'DELETE FROM jobs WHERE id = 1 OR id = 2 AND (SELECT ok FROM tenure_guard)',
    'DELETE FROM jobs WHERE (SELECT ok FROM tenure_guard) OR id = 1',
    'DELETE FROM jobs WHERE NOT (id = 7 AND (SELECT ok FROM tenure_guard))',
    'UPDATE jobs SET note = (SELECT ok FROM tenure_guard) WHERE id = 1',
    'UPDATE jobs SET note = 1 FROM tenure_guard WHERE id = 1',
    'MERGE INTO jobs USING (SELECT 9 AS id) s ON jobs.id = s.id AND (SELECT ok FROM tenure_guard) WHEN NOT MATCHED THEN INSERT VALUES (9)',
    `INSERT INTO jobs VALUES (9) ON CONFLICT (id) DO UPDATE SET note = 'x' WHERE (SELECT ok FROM tenure_guard)`,
    'WITH tenure_guard AS (SELECT true AS ok) DELETE FROM jobs WHERE (SELECT ok FROM tenure_guard)',
    'DELETE FROM jobs WHERE id = $1 AND (SELECT ok FROM tenure_guard)',
  ]) {
    it(`refuses what would write unfenced: ${text}`, async () => {
      await assert.rejects(guardedQuery(pool, led.fence, text), TypeError)
      assert.equal(await count(), 2)
    })
  }
})

describe('withResourceGuard', () => {
  it('fences several resources at once, in one order, whatever order they are named in', async () => {
    const names = [`a-${randomUUID()}`, `b-${randomUUID()}`]
    const young = { ...led.fence, session: randomUUID(), generation: 9 }
    const both = [names, names.toReversed()].map((order) =>
      withResourceGuard(pool, young, order, async () => 'done'),
    )
    assert.deepEqual(await Promise.all(both), [
      { ok: true, value: 'done' },
      { ok: true, value: 'done' },
    ])
    assert.deepEqual(await withResourceGuard(pool, led.fence, names, insert), {
      ok: false,
      reason: 'stale',
      current: { generation: 9, holder: null },
    })
    assert.equal(await count(), 0)
  })

  it('refuses to guard nothing, or the letters of a name', async () => {
    for (const none of [[], 'invoices' as unknown as string[]]) {
      await assert.rejects(guardResources(await bench.begin(), led.fence, none), /name at least one/)
    }
  })
})

describe('staleOf', () => {
  it('finds the refusal inside an error that an ORM has wrapped, and nothing in other errors', async () => {
    await led.deposed()
    const client = await bench.connect()
    const error = await client
      .query('SELECT tenure.guard($1, $2, $3)', led.key)
      .catch((cause: Error) => cause)
    assert.deepEqual(staleOf(new Error('query failed', { cause: error })), STALE)
    assert.equal(staleOf(new Error('query failed')), null)
    const circle = new Error('query failed')
    circle.cause = circle
    assert.equal(staleOf(circle), null)
    assert.equal(staleOf('TN001'), null)
  })
})
