import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, it } from 'node:test'
import type pg from 'pg'
import { FencingBench, refusedWith } from '../support/fencing-bench.ts'
import { newElection, timed, until } from '../support/postgres-bench.ts'

const GUARD = 'SELECT tenure.guard($1, $2, $3)'
const TRY_GUARD = 'SELECT tenure.try_guard($1, $2, $3) AS ok'
/** More than a takeover needs once nothing holds it up; a machine may be busy. */
const SLACK_MS = 1_000

const bench = await FencingBench.start()
afterEach(() => bench.closeAll())

describe('the strict guard lets through', () => {
  it('the tenure that leads, and says nothing', async () => {
    const led = await bench.lead()
    const application = await bench.begin()
    await application.query(GUARD, led.key)
    await application.query('COMMIT')
    assert.deepEqual((await application.query(TRY_GUARD, led.key)).rows, [{ ok: true }])
  })
})

describe('the strict guard refuses, and names who stands there:', () => {
  it('a tenure whose lease somebody else has taken', async () => {
    const led = await bench.lead()
    await led.deposed()
    const error = await refusedWith('TN001', (await bench.begin()).query(GUARD, led.key))
    assert.match(error.message, /generation 1 does not lead '.*'; web-2 does, under generation 2/)
    assert.equal(error.detail, '{"generation" : 2, "holder" : "web-2"}')
    assert.match(error.hint ?? '', /ask the sidecar again/)
  })

  it('a tenure whose lease ran out, also before anybody takes it', async () => {
    const led = await bench.lead()
    await led.runOut()
    const error = await refusedWith('TN001', (await bench.begin()).query(GUARD, led.key))
    assert.match(error.message, /nobody does just now/)
    assert.equal(error.detail, '{"generation" : 1, "holder" : null}')
  })

  it('a tenure that was released', async () => {
    const led = await bench.lead()
    await led.release()
    await refusedWith('TN001', (await bench.begin()).query(GUARD, led.key))
  })

  it('the right generation under another session, and an election that nobody has led', async () => {
    const { fence, key } = await bench.lead()
    const application = await bench.connect()
    const other = await refusedWith('TN001', application.query(GUARD, [fence.election, randomUUID(), key[2]]))
    assert.match(other.message, /does not lead .* under this session; web-1 does, under another one/)
    const ahead = await refusedWith('TN001', application.query(GUARD, [fence.election, fence.session, 99]))
    assert.match(ahead.message, /it has not begun, the last one is 1/)
    const error = await refusedWith('TN001', application.query(GUARD, [newElection(), ...key.slice(1)]))
    assert.match(error.message, /has never had a leader/)
    assert.equal(error.detail, 'null')
  })

  it('nulls, which try_guard answers with false and not with null', async () => {
    const { key } = await bench.lead()
    const application = await bench.connect()
    for (const at of [0, 1, 2]) {
      const torn = key.map((value, i) => (i === at ? null : value))
      await refusedWith('TN001', application.query(GUARD, torn))
      assert.deepEqual((await application.query(TRY_GUARD, torn)).rows, [{ ok: false }])
    }
  })

  it('whoever waited for a takeover that was under way', async () => {
    const led = await bench.lead()
    const takeover = await bench.postgres.session()
    await takeover.query('BEGIN')
    await takeover.query(
      `UPDATE tenure.lease SET generation = generation + 1, session = gen_random_uuid(), holder = 'web-2' WHERE election = $1`,
      [led.fence.election],
    )
    const application = await bench.begin()
    const guarded = refusedWith('TN001', application.query(GUARD, led.key))
    await until('the guard waits for the row', async () => (await lockWaiters()) > 0)
    await takeover.query('COMMIT')
    assert.match((await guarded).message, /web-2 does, under generation 2/)
  })

  it('whoever waited for the row until the lease had run out', async () => {
    const led = await bench.lead('web-1', 600)
    const blocker = await bench.postgres.session()
    await blocker.query('BEGIN')
    await blocker.query('SELECT FROM tenure.lease WHERE election = $1 FOR UPDATE', [led.fence.election])
    const application = await bench.begin()
    const guarded = refusedWith('TN001', application.query(GUARD, led.key))
    await until('the guard waits for the row', async () => (await lockWaiters()) > 0)
    await until('the lease runs out', async () => (await bench.postgres.leftMs(led.fence.election)) < 0)
    await blocker.query('COMMIT')
    await guarded
  })
})

describe('while a guarded transaction is open', () => {
  it('a takeover waits for it, and goes through when it ends', async () => {
    const led = await bench.lead()
    const application = await bench.begin()
    await application.query(GUARD, led.key)
    await led.runOut()
    assert.equal((await led.contend()).kind, 'contended')
    await application.query('COMMIT')
    assert.equal((await led.takenOver()).fence.generation, 2)
  })

  it('a takeover waits for it after a release too', async () => {
    const led = await bench.lead()
    const application = await bench.begin()
    await application.query(GUARD, led.key)
    assert.equal((await led.release()).kind, 'released')
    assert.equal((await led.contend()).kind, 'contended')
    await application.query('ROLLBACK')
    assert.equal((await led.takenOver()).fence.generation, 2)
  })

  it('renewals pass', async () => {
    const led = await bench.lead()
    const application = await bench.begin()
    await application.query(GUARD, led.key)
    for (let i = 0; i < 20; i++) assert.equal((await led.renew()).kind, 'granted')
    await application.query('COMMIT')
  })

  for (const [what, sql] of [
    ['idle', null],
    ['busy', 'SELECT pg_sleep(60)'],
  ] as const) {
    it(`and ${what} for longer than the ttl, the server ends it, and the takeover goes through`, async () => {
      const ttlMs = 700
      const led = await bench.lead('web-1', ttlMs)
      const application = await bench.begin()
      const ended = new Promise((resolve) => application.once('end', resolve))
      await application.query(GUARD, led.key)
      const busy = sql === null ? null : refusedWith('25P04', application.query(sql))
      const { tookMs } = await timed(() => led.takenOver())
      assert.ok(tookMs < ttlMs + SLACK_MS, `${tookMs} ms`)
      await busy
      await ended
    })
  }

  for (const [what, before] of [
    ['a longer transaction_timeout of the session', `SET transaction_timeout = '60s'`],
    [
      'a longer one, and a shorter one that only seems to be in force',
      `SET transaction_timeout = '60s'; SELECT 1`,
    ],
  ] as const) {
    it(`${what} does not put the bound off`, async () => {
      const ttlMs = 700
      const led = await bench.lead('web-1', ttlMs)
      const application = await bench.connect()
      await application.query(before)
      await application.query('BEGIN')
      if (what.includes('seems')) await application.query(`SET LOCAL transaction_timeout = '500ms'`)
      await application.query(GUARD, led.key)
      const busy = endedByServer(busyFor(application))
      const { tookMs } = await timed(() => led.takenOver())
      assert.ok(tookMs < ttlMs + SLACK_MS, `${tookMs} ms`)
      await busy
    })
  }

  it('a second election with a shorter ttl shortens the bound, and asking again does not begin it anew', async () => {
    const long = await bench.lead('web-1', 60_000)
    const led = await bench.lead('web-1', 700)
    const application = await bench.begin()
    await application.query(GUARD, long.key)
    await application.query(GUARD, led.key)
    const asking = endedByServer(busyFor(application, () => application.query(TRY_GUARD, long.key)))
    const { tookMs } = await timed(() => led.takenOver())
    assert.ok(tookMs < 700 + SLACK_MS, `${tookMs} ms`)
    await asking
  })

  it('a bound of its own that is shorter stays, and none outlives the transaction', async () => {
    const led = await bench.lead('web-1', 5_000)
    const application = await bench.begin()
    await application.query(`SET LOCAL idle_in_transaction_session_timeout = '1500ms'`)
    await application.query(GUARD, led.key)
    const settings = `SELECT current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('transaction_timeout') AS whole`
    assert.deepEqual((await application.query(settings)).rows, [{ idle: '1500ms', whole: '5s' }])
    await application.query('COMMIT')
    assert.deepEqual((await application.query(settings)).rows, [{ idle: '0', whole: '0' }])
  })
})

it('overlapping short transactions of an application whose sidecar is gone hold a takeover up no longer than ttl + the longest', async () => {
  const ttlMs = 800
  const longestMs = 300
  const led = await bench.lead('web-1', ttlMs)
  let over = false
  const worker = async (): Promise<number> => {
    const application = await bench.connect()
    for (let done = 0; ; done++) {
      if (over) return done
      await application.query('BEGIN')
      const { rows } = await application.query(TRY_GUARD, led.key)
      await application.query('SELECT pg_sleep($1)', [longestMs / 1_000])
      await application.query('COMMIT')
      if (!rows[0].ok && over) return done
    }
  }
  const workers = [worker(), worker(), worker()]
  const { tookMs } = await timed(() => led.takenOver())
  over = true
  const done = (await Promise.all(workers)).reduce((sum, one) => sum + one)
  assert.ok(done >= 3, `only ${done} transactions overlapped`)
  assert.ok(tookMs < ttlMs + longestMs + SLACK_MS, `${tookMs} ms`)
})

describe('the application role', () => {
  for (const sql of [
    'SELECT * FROM tenure.lease',
    'SELECT session FROM tenure.lease FOR KEY SHARE',
    `UPDATE tenure.lease SET holder = 'me'`,
    'DELETE FROM tenure.lease',
    'SELECT * FROM tenure.high_water',
    'SELECT tenure.bound_transaction(0)',
    `SELECT tenure.guard_write('x', 'pg_class')`,
  ]) {
    it(`may not: ${sql}`, async () => {
      await refusedWith('42501', (await bench.connect()).query(sql))
    })
  }

  it('cannot lead another to functions of its own', async () => {
    const led = await bench.lead()
    const application = await bench.connect()
    await application.query(
      `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT 'epoch'::timestamptz$$`,
    )
    await application.query(
      `CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT 'epoch'::timestamptz$$`,
    )
    await application.query('SET search_path = pg_temp, public, pg_catalog')
    await led.runOut()
    assert.deepEqual((await application.query(TRY_GUARD, led.key)).rows, [{ ok: false }])
    await application.query('DROP FUNCTION public.clock_timestamp()')
  })

  it('reads who leads, and no session', async () => {
    const led = await bench.lead()
    const { rows } = await (await bench.connect()).query('SELECT * FROM tenure.current($1)', [
      led.fence.election,
    ])
    assert.deepEqual(rows, [{ generation: '1', holder: 'web-1' }])
  })
})

it('a role without the grants may not ask the guards', async () => {
  const { key } = await bench.lead()
  const role = await bench.postgres.server.createRole()
  await bench.postgres.sql(`GRANT USAGE ON SCHEMA tenure TO ${role}`)
  const session = await bench.postgres.session()
  await session.query(`SET ROLE ${role}`)
  await refusedWith('42501', session.query(GUARD, key))
})

/** Ended inside a statement, or between two: then the driver notices at the next one. */
function endedByServer(work: Promise<void>): Promise<void> {
  return assert.rejects(work, (error: Error & { code?: string }) => {
    return error.code === '25P04' || /not queryable|Connection terminated/.test(error.message)
  })
}

/** Many short statements, until the server has had enough. */
async function busyFor(
  application: pg.Client,
  query = () => application.query('SELECT pg_sleep(0.02)'),
): Promise<void> {
  for (;;) await query()
}

async function lockWaiters(): Promise<number> {
  const rows = await bench.postgres.sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
  return rows.length
}
