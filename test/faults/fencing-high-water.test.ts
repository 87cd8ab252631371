import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, it } from 'node:test'
import { FencingBench, refusedWith } from '../support/fencing-bench.ts'
import { until } from '../support/postgres-bench.ts'

const GUARD = 'SELECT tenure.guard_resource($1, $2, $3)'
const TRY_GUARD = 'SELECT tenure.try_guard_resource($1, $2, $3) AS ok'

const bench = await FencingBench.start()
afterEach(() => bench.closeAll())

const resource = () => `bucket-${randomUUID()}`

describe('the high-water guard', () => {
  it('lets a generation through until a higher one has written, and then refuses it for good', async () => {
    const [name, old, young] = [resource(), randomUUID(), randomUUID()]
    const application = await bench.connect()
    await application.query(GUARD, [name, old, 4])
    await application.query(GUARD, [name, old, 4])
    await application.query(GUARD, [name, young, 9])
    const error = await refusedWith('TN001', application.query(GUARD, [name, old, 4]))
    assert.match(error.message, /generation 4 is old for 'bucket-.*', which has seen generation 9/)
    assert.equal(error.detail, '{"generation" : 9, "holder" : null}')
    assert.deepEqual((await application.query(TRY_GUARD, [name, old, 4])).rows, [{ ok: false }])
    await application.query(GUARD, [name, young, 9])
  })

  it('refuses an equal generation of another session', async () => {
    const name = resource()
    const application = await bench.connect()
    await application.query(GUARD, [name, randomUUID(), 4])
    const error = await refusedWith('TN001', application.query(GUARD, [name, randomUUID(), 4]))
    assert.match(error.message, /under another session/)
  })

  it('keeps resources apart', async () => {
    const application = await bench.connect()
    await application.query(GUARD, [resource(), randomUUID(), 9])
    await application.query(GUARD, [resource(), randomUUID(), 4])
  })

  it('refuses nulls and generations that are none', async () => {
    const application = await bench.connect()
    for (const args of [
      [null, randomUUID(), 1],
      [resource(), null, 1],
      [resource(), randomUUID(), null],
    ]) {
      await refusedWith('TN001', application.query(GUARD, args))
      assert.deepEqual((await application.query(TRY_GUARD, args)).rows, [{ ok: false }])
    }
    for (const generation of [0, -1, '9007199254740992'])
      await refusedWith('23514', application.query(GUARD, [resource(), randomUUID(), generation]))
  })

  it('lets writers of one generation pass side by side', async () => {
    const [name, session] = [resource(), randomUUID()]
    await (await bench.connect()).query(GUARD, [name, session, 4])
    const [one, two] = [await bench.begin(), await bench.begin()]
    await one.query(GUARD, [name, session, 4])
    await two.query(GUARD, [name, session, 4])
    await one.query('COMMIT')
    await two.query('COMMIT')
  })

  it('makes a new generation wait for the open writes of the old one', async () => {
    const [name, session] = [resource(), randomUUID()]
    const [old, young] = [await bench.connect(), await bench.connect()]
    // The row is there and committed: what the next one waits for is the guard's lock alone.
    await old.query(GUARD, [name, session, 4])
    await old.query('BEGIN')
    await old.query(GUARD, [name, session, 4])
    const raised = young.query(GUARD, [name, randomUUID(), 5])
    await until('the new one waits', async () => (await waiters()) > 0)
    await old.query('COMMIT')
    await raised
    await refusedWith('TN001', old.query(GUARD, [name, session, 4]))
  })

  it('refuses an old write that waited while a new generation wrote', async () => {
    const [name, session] = [resource(), randomUUID()]
    const [old, young] = [await bench.begin(), await bench.begin()]
    await young.query(GUARD, [name, randomUUID(), 5])
    const refused = refusedWith('TN001', old.query(GUARD, [name, session, 4]))
    await until('the old one waits', async () => (await waiters()) > 0)
    await young.query('COMMIT')
    await refused
  })

  it('forgets a new generation whose first write was rolled back', async () => {
    const [name, session] = [resource(), randomUUID()]
    const [old, young] = [await bench.connect(), await bench.begin()]
    await old.query(GUARD, [name, session, 4])
    await young.query(GUARD, [name, randomUUID(), 5])
    await young.query('ROLLBACK')
    await old.query(GUARD, [name, session, 4])
  })

  for (const level of ['REPEATABLE READ', 'SERIALIZABLE'] as const) {
    it(`fails with 40001 under ${level} where its snapshot is older than a new generation`, async () => {
      const [name, session] = [resource(), randomUUID()]
      const old = await bench.begin(`BEGIN ISOLATION LEVEL ${level}`)
      const young = await bench.connect()
      await young.query(GUARD, [name, session, 3])
      await old.query('SELECT 1 FROM pg_class LIMIT 1')
      await young.query(GUARD, [name, randomUUID(), 5])
      await refusedWith('40001', old.query(GUARD, [name, session, 3]))
    })
  }

  it('by many generations at once ends with the highest, whatever the order', async () => {
    const name = resource()
    const generations = Array.from({ length: 24 }, (_, i) => i + 1).sort(() => Math.random() - 0.5)
    const applications = await Promise.all(generations.map(() => bench.connect()))
    await Promise.all(
      generations.map((generation, i) => applications[i]?.query(TRY_GUARD, [name, randomUUID(), generation])),
    )
    const [row] = await bench.postgres.sql('SELECT generation FROM tenure.high_water WHERE resource = $1', [
      name,
    ])
    assert.deepEqual(row, { generation: '24' })
  })
})

describe('the inline predicate, as documented', () => {
  const UPDATE = 'UPDATE items SET fence = $2, note = $3 WHERE id = $1 AND fence <= $2'

  it('refuses the update of a row that a higher generation has written, and does not see other rows', async () => {
    const application = await bench.connect()
    await application.query('CREATE TABLE items (id integer, fence bigint NOT NULL DEFAULT 0, note text)')
    await application.query('INSERT INTO items (id) VALUES (1), (2)')
    assert.equal((await application.query(UPDATE, [1, 5, 'new'])).rowCount, 1)
    assert.equal((await application.query(UPDATE, [1, 4, 'old'])).rowCount, 0)
    assert.equal((await application.query(UPDATE, [2, 4, 'old'])).rowCount, 1)
    await application.query('DROP TABLE items')
  })
})

async function waiters(): Promise<number> {
  return (await bench.postgres.sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)).length
}
