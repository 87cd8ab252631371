/** How long a claim lasts, on a real PostgreSQL. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { WorkTable } from '../../src/work/index.ts'
import { until } from '../support/sidecar.ts'
import { LEASE_MS, one, SUITE_MOST_MS, WorkBench } from './work-bench.ts'

const SHORT_MS = 1

const bench = await WorkBench.start()
const { pool } = bench
const query: WorkBench['query'] = (text, values) => bench.query(text, values)
const jobs: WorkBench['jobs'] = (rows, options) => bench.jobs(rows, options)

describe('extend', { timeout: SUITE_MOST_MS }, () => {
  it('keeps a live lease for one lease from now', async () => {
    const { table, work } = await jobs(2)
    const items = await work.claim(pool, { limit: 2 })
    await query(`UPDATE ${table} SET leased_until = clock_timestamp() + interval '2 s'`)
    for (const { result, leaseLeftMs } of await work.extend(pool, items)) {
      assert.equal(result, 'applied')
      assert.ok(
        leaseLeftMs !== null && leaseLeftMs > LEASE_MS - 2 && leaseLeftMs <= LEASE_MS,
        `${leaseLeftMs}`,
      )
    }
  })

  it('needs a live lease', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    await bench.expireAll(table)
    const before = await bench.image(table)
    assert.deepEqual(await work.extend(pool, item), {
      item,
      result: 'ended',
      applied: false,
      leaseLeftMs: 0,
      error: null,
    })
    assert.deepEqual(await bench.image(table), before)
  })

  it('ends at the total life of the claim, whoever asks and however often, also with a copied token', async () => {
    const { table, work } = await jobs(1, { leaseMs: 400, lifeMs: 1_000 })
    const { key, token } = await one(work.claim(pool, { limit: 1 }))
    const elsewhere = new WorkTable({ table, key: 'id', leaseMs: 400, lifeMs: 1_000 })
    let extended = 0
    await until('no more time is given', async () => {
      const { result } = await elsewhere.extend(pool, { key, token })
      if (result === 'applied') extended++
      return result === 'ended' ? true : null
    })
    assert.ok(extended > 2, `${extended} times`)
    const [row] = await query<{ life: string }>(
      `SELECT extract(epoch FROM leased_until) * 1000 - ('x' || substr(replace(lease_token::text, '-', ''), 1, 12))::bit(48)::bigint AS life FROM ${table}`,
    )
    assert.equal(Number(row?.life), 1_000)
    await until('it is free', async () => ((await work.claim(pool, { limit: 1 })).length === 1 ? true : null))
  })

  it('never shortens a lease', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    const short = new WorkTable({ table, key: 'id', leaseMs: SHORT_MS, lifeMs: 2 * LEASE_MS })
    const { result, leaseLeftMs } = await short.extend(pool, item)
    assert.equal(result, 'applied')
    assert.ok((leaseLeftMs ?? 0) > LEASE_MS - 5_000, `${leaseLeftMs}`)
  })

  it('gives no time to a token that does not say when its claim began', async () => {
    const { table, work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    const foreign = { key: item.key, token: randomUUID() }
    await query(`UPDATE ${table} SET lease_token = '${foreign.token}'`)
    assert.equal((await work.extend(pool, foreign)).result, 'ended')
    assert.equal((await work.complete(pool, foreign)).result, 'applied')
  })

  it('by an extender outlives several leases, and is over before the completion', async () => {
    const { work, journal } = await jobs(2, { leaseMs: 300, lifeMs: LEASE_MS })
    const items = await work.claim(pool, { limit: 2 })
    const extender = work.keepExtended(pool, items)
    await until('eight extensions', () =>
      journal.filter(({ op }) => op === 'extend').length >= 8 ? true : null,
    )
    const [first, second] = items
    assert.ok(first && second)
    assert.deepEqual(await work.claim(pool, { limit: 2 }), [], 'nobody else had them meanwhile')
    await extender.drop(first)
    assert.equal((await work.complete(pool, first)).result, 'applied')
    await extender.stop()
    assert.equal((await work.complete(pool, second)).result, 'applied')
    assert.ok(!journal.some(({ result }) => result === 'lost'))
  })
})

describe('release', { timeout: SUITE_MOST_MS }, () => {
  it('gives the row back unchanged, to be taken at once', async () => {
    const { work } = await jobs(1)
    const item = await one(work.claim(pool, { limit: 1 }))
    assert.equal((await work.release(pool, item)).result, 'applied')
    const again = await one(work.claim(pool, { limit: 1 }))
    assert.equal(again.retaken, false)
    assert.equal((await work.release(pool, item)).result, 'lost', 'the earlier token releases nothing')
    assert.equal((await work.complete(pool, again)).result, 'applied')
  })
})
