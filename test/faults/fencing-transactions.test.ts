/** Isolation levels, savepoints, blocks and prepared transactions around the strict guard: safe, or refused. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { FencingBench, refusedWith } from '../support/fencing-bench.ts'

const GUARD = 'SELECT tenure.guard($1, $2, $3)'

const bench = await FencingBench.start()
afterEach(() => bench.closeAll())

for (const level of ['REPEATABLE READ', 'SERIALIZABLE'] as const) {
  describe(`under ${level} the strict guard`, () => {
    const begin = `BEGIN ISOLATION LEVEL ${level}`

    it('lets the present tenure through, and makes a takeover wait', async () => {
      const led = await bench.lead()
      const application = await bench.begin(begin)
      await application.query(GUARD, led.key)
      assert.equal((await led.renew()).kind, 'granted')
      await led.runOut()
      assert.equal((await led.contend()).kind, 'contended')
      await application.query('COMMIT')
    })

    it('refuses an old tenure as stale', async () => {
      const led = await bench.lead()
      await led.deposed()
      await refusedWith('TN001', (await bench.begin(begin)).query(GUARD, led.key))
    })

    it('that comes after a snapshot older than a takeover fails with 40001', async () => {
      const led = await bench.lead()
      const application = await bench.begin(begin)
      await application.query('SELECT 1 FROM pg_class LIMIT 1')
      await led.deposed()
      await refusedWith('40001', application.query(GUARD, led.key))
    })

    // The old version of the row still says "leads". The lock follows the row all the same.
    for (const change of ['renew', 'release'] as const) {
      it(`that comes after a snapshot older than a ${change} may pass, and makes a takeover wait`, async () => {
        const led = await bench.lead()
        const application = await bench.begin(begin)
        await application.query('SELECT 1 FROM pg_class LIMIT 1')
        await led[change]()
        await application.query(GUARD, led.key)
        await led.runOut()
        assert.equal((await led.contend()).kind, 'contended')
        await application.query('COMMIT')
        await led.takenOver()
      })
    }
  })
}

describe('a savepoint', () => {
  it('after the guard may be rolled back: the takeover still waits', async () => {
    const led = await bench.lead()
    const application = await bench.begin()
    await application.query(GUARD, led.key)
    await application.query('SAVEPOINT s')
    await application.query('ROLLBACK TO s')
    await led.runOut()
    assert.equal((await led.contend()).kind, 'contended')
  })

  it('before the guard takes it along when rolled back, as docs/fencing.md warns: asked again, the guard refuses', async () => {
    const led = await bench.lead()
    const application = await bench.begin()
    await application.query('SAVEPOINT s')
    await application.query(GUARD, led.key)
    await application.query('ROLLBACK TO s')
    await led.deposed()
    await refusedWith('TN001', application.query(GUARD, led.key))
  })
})

describe('a DO block', () => {
  it('is one transaction: the guard in it holds to its end, and its refusal ends it', async () => {
    const led = await bench.lead()
    const application = await bench.connect()
    const [election, session, generation] = led.key
    const block = `DO $$ BEGIN PERFORM tenure.guard('${election}', '${session}', ${generation}); PERFORM set_config('test.done', 'yes', false); END $$`
    await application.query(block)
    await application.query('RESET test.done')
    await led.deposed()
    await refusedWith('TN001', application.query(block))
    const { rows } = await application.query(
      `SELECT coalesce(current_setting('test.done', true), '') AS done`,
    )
    assert.deepEqual(rows, [{ done: '' }])
  })
})

it('a prepared transaction keeps its guard, and the takeover waits until somebody decides it', async () => {
  const led = await bench.lead()
  const application = await bench.begin()
  await application.query(GUARD, led.key)
  await application.query(`PREPARE TRANSACTION 'guarded'`)
  await led.runOut()
  assert.equal((await led.contend()).kind, 'contended')
  await application.query(`ROLLBACK PREPARED 'guarded'`)
  await led.takenOver()
})

it('on a read-only transaction the guard says that it may not lock', async () => {
  const led = await bench.lead()
  await refusedWith('25006', (await bench.begin('BEGIN READ ONLY')).query(GUARD, led.key))
})
