/** What is done under a token, on a real PostgreSQL: once, or not at all. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inMs, sql, WorkTable } from '../../src/work/index.ts'
import { one, SUITE_MOST_MS, WorkBench } from './work-bench.ts'

const bench = await WorkBench.start()
const { pool } = bench
const query: WorkBench['query'] = (text, values) => bench.query(text, values)
const jobs: WorkBench['jobs'] = (rows, options) => bench.jobs(rows, options)
const client: WorkBench['client'] = (url) => bench.client(url)

describe('apply', { timeout: SUITE_MOST_MS }, () => {
  it('writes the columns and clears lease and token with them', async () => {
    const { table, work, journal } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    const done = await work.apply(pool, item, {
      set: { step: item.row.step + 1, due_at: inMs(60_000), note: null },
    })
    assert.deepEqual(done, { item, result: 'applied', applied: true, leaseLeftMs: null, error: null })
    const [row] = await query<{ soon: boolean }>(
      `SELECT step, note, leased_until, lease_token, due_at BETWEEN clock_timestamp() + interval '55 s'
        AND clock_timestamp() + interval '60 s' AS soon FROM ${table}`,
    )
    assert.deepEqual(row, { step: 1, note: null, leased_until: null, lease_token: null, soon: true })
    assert.deepEqual(journal.at(-1), { op: 'apply', table, key: '1', token: item.token, result: 'applied' })
  })

  it('under a token that somebody else has replaced changes nothing: the row is the same, byte for byte', async () => {
    const { table, work } = await jobs(2)
    const stale = await one(work.claim(pool, { limit: 1 }))
    await bench.expireAll(table)
    const fresh = await one(work.claim(pool, { limit: 1 }))
    assert.equal(fresh.key, stale.key)
    const before = await bench.image(table)
    const change = { set: { step: 7, due_at: inMs(0), note: 'stale' } }
    const results = [
      await work.apply(pool, stale, change),
      await work.fail(pool, stale, change),
      await work.complete(pool, stale),
      await work.release(pool, stale),
      await work.extend(pool, stale),
    ]
    assert.deepEqual(
      results.map(({ result, applied }) => [result, applied]),
      results.map(() => ['lost', false]),
    )
    assert.deepEqual(await bench.image(table), before)
    assert.equal((await work.apply(pool, fresh, change)).result, 'applied')
  })

  it('twice under one token applies once', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    const set = { step: 1 }
    const results = await Promise.all(Array.from({ length: 6 }, () => work.apply(pool, item, { set })))
    assert.equal(results.filter(({ applied }) => applied).length, 1)
    assert.ok(results.every(({ result }) => result === 'applied' || result === 'lost'))
    const before = await bench.image(table)
    assert.equal((await work.apply(pool, item, { set: { step: 2 } })).result, 'lost')
    assert.deepEqual(await bench.image(table), before)
  })

  it('under an expired token that nobody took still applies', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    await bench.expireAll(table)
    assert.equal((await work.apply(pool, item, { set: { step: 1 } })).result, 'applied')
  })

  it('whose further predicate does not hold changes nothing, and leaves the lease', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    await query(`UPDATE ${table} SET firing = false`)
    const before = await bench.image(table)
    for (const where of [{ firing: true }, sql`firing AND step < ${5}`]) {
      assert.equal((await work.apply(pool, item, { set: { step: 1 }, where })).result, 'unmet')
    }
    assert.deepEqual(await bench.image(table), before)
    assert.equal(
      (await work.apply(pool, item, { set: { step: 1 }, where: { firing: false } })).result,
      'applied',
    )
  })

  it('judges the predicate on the row as it is after a wait, not as it was before', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    const rival = await client()
    await rival.query('BEGIN')
    await rival.query(`UPDATE ${table} SET firing = false`)
    const applying = work.apply(pool, item, { set: { step: 1 }, where: { firing: true } })
    await bench.rowWaitedFor()
    await rival.query('COMMIT')
    assert.equal((await applying).result, 'unmet')
  })

  it('that waited while somebody else took the row is lost', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    await bench.expireAll(table)
    const rival = await client()
    await rival.query('BEGIN')
    const taken = await one(work.claim(rival, { limit: 1 }))
    const applying = work.apply(pool, item, { set: { step: 1 } })
    await bench.rowWaitedFor()
    await rival.query('COMMIT')
    assert.equal((await applying).result, 'lost')
    assert.equal((await work.apply(pool, taken, { set: { step: 2 } })).result, 'applied')
  })

  it('whose token a trigger puts back is a fault and not applied, for one item and in a list', async () => {
    const { table, work } = await jobs(2)
    await query(`CREATE FUNCTION put_back() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.step > 0 THEN RETURN OLD; END IF; RETURN NEW; END $$;
      CREATE TRIGGER t BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION put_back()`)
    const [first, second] = await work.claim(pool, { limit: 2 })
    assert.ok(first && second)
    const alone = () => work.apply(pool, first, { set: { step: 1 } })
    for (const { result, applied, error } of [await alone(), await alone()]) {
      assert.deepEqual([result, applied], ['fault', false])
      assert.match(error?.message ?? '', /^key 1: .* carries its token still/)
    }
    const set = { step: sql`CASE WHEN item.id = 1 THEN 1 ELSE 0 END` }
    assert.deepEqual(
      (await work.apply(pool, [first, second], { set })).map(({ result }) => result),
      ['fault', 'applied'],
    )
    assert.equal((await work.extend(pool, first)).result, 'applied')
  })

  it('on a row that is gone says missing', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    await query(`DELETE FROM ${table}`)
    assert.equal((await work.apply(pool, item)).result, 'missing')
  })

  it('waits for a locked row no longer than its time, then says contended; the caller keeps its own time-out', async () => {
    const { table, work } = await jobs(1, { lockTimeoutMs: 50 })
    const item = await one(work.claim(pool, { limit: 1 }))
    const rival = await client()
    await rival.query('BEGIN')
    await rival.query(`SELECT FROM ${table} FOR UPDATE`)
    const before = await bench.image(table)
    assert.equal((await work.apply(pool, item, { set: { step: 1 } })).result, 'contended')
    await rival.query('ROLLBACK')
    assert.deepEqual(await bench.image(table), before)

    const own = await client()
    await own.query('BEGIN')
    await own.query(`SET LOCAL lock_timeout = '7s'`)
    assert.equal((await work.apply(own, item, { set: { step: 1 } })).result, 'applied')
    assert.deepEqual((await own.query('SHOW lock_timeout')).rows, [{ lock_timeout: '7s' }])
    await own.query('ROLLBACK')
    assert.deepEqual((await own.query('SHOW lock_timeout')).rows, [{ lock_timeout: '0' }])
    assert.equal((await work.apply(pool, item, { set: { step: 1 } })).result, 'applied', 'it was rolled back')
  })

  it('does not write the columns of the lease or the key for the caller, nor a value that is undefined', async () => {
    const { work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    for (const set of [{ lease_token: null }, { leased_until: null }, { id: '9' }] as const) {
      await assert.rejects(work.apply(pool, item, { set: set as object }), /belongs to the lease/)
    }
    await assert.rejects(work.apply(pool, item, { set: { note: undefined as unknown as null } }), /undefined/)
  })
})

describe('a batch', { timeout: SUITE_MOST_MS }, () => {
  it('has an outcome for each item, in order', async () => {
    const { table, work } = await jobs(4)
    const items = await work.claim(pool, { limit: 4 })
    const [applied, lost, missing, unmet] = items
    assert.ok(applied && lost && missing && unmet)
    await query(`UPDATE ${table} SET lease_token = gen_random_uuid() WHERE id = ${lost.key}`)
    await query(`DELETE FROM ${table} WHERE id = ${missing.key}`)
    await query(`UPDATE ${table} SET firing = false WHERE id = ${unmet.key}`)
    const outcomes = await work.apply(pool, [unmet, missing, applied, lost, applied], {
      set: { step: 1 },
      where: { firing: true },
    })
    assert.deepEqual(
      outcomes.map(({ item, result }) => [item, result]),
      [
        [unmet, 'unmet'],
        [missing, 'missing'],
        [applied, 'applied'],
        [lost, 'lost'],
        [applied, 'applied'],
      ],
    )
    assert.deepEqual(await work.complete(pool, []), [])
  })

  it('in which one row is locked and one breaks a constraint does what it can for the others', async () => {
    const { table, work } = await jobs(4, { lockTimeoutMs: 50 })
    const items = await work.claim(pool, { limit: 4 })
    await query(`UPDATE ${table} SET step = 99 WHERE id = 2`)
    const rival = await client()
    await rival.query('BEGIN')
    await rival.query(`SELECT FROM ${table} WHERE id = 3 FOR UPDATE`)
    const outcomes = await work.apply(pool, items, { set: { step: sql`item.step + 1` } })
    assert.deepEqual(
      outcomes.map(({ result }) => result),
      ['applied', 'fault', 'contended', 'applied'],
    )
    assert.match(outcomes[1]?.error?.message ?? '', /check constraint/)
    const [second] = items.slice(1)
    assert.ok(second)
    await assert.rejects(work.apply(pool, second, { set: { step: 100 } }), /check constraint/)
  })

  it('pairs each key with its own token', async () => {
    const { table, work } = await jobs(2)
    const [a, b] = await work.claim(pool, { limit: 2 })
    assert.ok(a && b)
    const before = await bench.image(table)
    const crossed = [
      { key: a.key, token: b.token },
      { key: b.key, token: a.token },
    ]
    assert.deepEqual(
      (await work.complete(pool, crossed)).map(({ result }) => result),
      ['lost', 'lost'],
    )
    assert.deepEqual(await bench.image(table), before)
  })

  it('that names one token under two keys applies the row that carries it, and no other', async () => {
    const { table, work } = await jobs(2)
    const [a, b] = await work.claim(pool, { limit: 2 })
    assert.ok(a && b)
    const wrong = { key: a.key, token: b.token }
    const outcomes = await work.apply(pool, [wrong, b, wrong], { set: { step: 1 } })
    assert.deepEqual(
      outcomes.map(({ item, result }) => [item, result]),
      [
        [wrong, 'lost'],
        [b, 'applied'],
        [wrong, 'lost'],
      ],
    )
    assert.deepEqual(await query(`SELECT id, step FROM ${table} ORDER BY id`), [
      { id: a.key, step: 0 },
      { id: b.key, step: 1 },
    ])
  })

  it('of which one row is refused by a policy, or by a trigger with a state of its own, applies the others', async () => {
    const role = await bench.server.createRole()
    const { table, work } = await jobs(4)
    await query(`GRANT SELECT, UPDATE ON ${table} TO ${role}; ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
      CREATE POLICY p ON ${table} USING (true) WITH CHECK (id <> 2 OR step = 0);
      CREATE FUNCTION refuse_third() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.id = 3 AND NEW.step > 0 THEN RAISE 'not this one' USING ERRCODE = 'TN001'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER t BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_third()`)
    const runner = await client(bench.server.url(bench.database, role))
    const items = await work.claim(runner, { limit: 4 })
    const outcomes = await work.apply(runner, items, { set: { step: 1 } })
    assert.deepEqual(
      outcomes.map(({ result, error }) => [result, error === null ? null : Reflect.get(error, 'code')]),
      [
        ['applied', null],
        ['fault', '42501'],
        ['fault', 'TN001'],
        ['applied', null],
      ],
    )
  })

  it('whose statement nobody can run is thrown as a whole: no column, no right, no value that fits', async () => {
    const role = await bench.server.createRole()
    const { table, work } = await jobs(2)
    await query(`GRANT SELECT ON ${table} TO ${role}`)
    const items = await work.claim(pool, { limit: 2 })
    const reader = await client(bench.server.url(bench.database, role))
    await assert.rejects(work.complete(reader, items), { code: '42501' })
    await assert.rejects(work.apply(pool, items, { set: { none: 1 } as object }), { code: '42703' })
    await assert.rejects(work.apply(pool, items, { set: { step: 'many' } as object }), { code: '22P02' })
  })

  it('on a table that is not there is a fault, and thrown', async () => {
    const work = new WorkTable({ table: 'public.nowhere', key: 'id', leaseMs: 1, lifeMs: 1 })
    await assert.rejects(work.claim(pool, { limit: 1 }), /does not exist/)
    const item = { key: '1', token: randomUUID() }
    await assert.rejects(work.complete(pool, [item, { ...item, token: randomUUID() }]), /does not exist/)
  })
})

describe('a stampede', { timeout: SUITE_MOST_MS }, () => {
  it('on few rows with a lease that hardly lasts counts every applied step once', async () => {
    const { table, work } = await jobs(3, { leaseMs: 2, lifeMs: 2, due: sql`true` })
    const count = async (): Promise<number> => {
      let applied = 0
      for (let round = 0; round < 60; round++) {
        for (const item of await work.claim(pool, { limit: 2 })) {
          // What was read at the claim: a stale write would set the count back.
          const set = { note: `${Number(item.row.note) + 1}` }
          if ((await work.apply(pool, item, { set })).applied) applied++
        }
      }
      return applied
    }
    await query(`UPDATE ${table} SET note = '0'`)
    const counts = await Promise.all(Array.from({ length: 10 }, count))
    const [row] = await query<{ sum: string }>(`SELECT sum(note::integer)::text AS sum FROM ${table}`)
    const applied = counts.reduce((sum, n) => sum + n, 0)
    assert.ok(applied > 20, `${applied} applied`)
    assert.equal(Number(row?.sum), applied)
  })
})
