/** Several elections in one sidecar, and what an election costs its PostgreSQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { deriveTiming } from '../../src/election/timing.ts'
import { withFleet } from '../support/fleet.ts'
import { newElection, PostgresBench } from '../support/postgres-bench.ts'
import { sidecar, until } from '../support/sidecar.ts'
import { Watcher } from '../support/watcher.ts'

const TIMING = deriveTiming({ ttlMs: 3_000 })
const TEST_TIMEOUT_MS = 60_000
const QUIET_HALVES = 4

const bench = await PostgresBench.start()
const flags = ['--store', bench.url, '--ttl', `${TIMING.ttlMs}ms`]

test('an election whose row is locked does not delay the other one of the same sidecar', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const [locked, free] = [newElection(), newElection()]
  const one = await sidecar(t, 'both', [...flags, '--election', locked, '--election', free])
  const before = await one.leads(TIMING.ttlMs, locked)
  const { generation } = await one.leads(TIMING.ttlMs, free)
  const watcher = new Watcher(free)
  watcher.add(one)
  const session = await bench.session()
  await session.query('BEGIN')
  await session.query('SELECT 1 FROM tenure.lease WHERE election = $1 FOR UPDATE', [locked])
  const fromMs = performance.now()
  await until('the locked one is lost by its deadline', async () => {
    const told = await one.leadership(locked)
    return told?.reason === 'deadline' && !told.leading ? true : null
  })
  await until('two ttl go by', () => (performance.now() - fromMs > 2 * TIMING.ttlMs ? true : null))
  const answers = watcher.leading.length
  await session.query('ROLLBACK')
  const again = await one.leads(TIMING.ttlMs + 1_000, locked)
  assert.ok((again.generation ?? 0) > (before.generation ?? 0))
  await watcher.stop()
  assert.equal(watcher.leading.length, watcher.answers, 'it answered "not leading" in between')
  assert.ok(answers > 0)
  assert.deepEqual(
    watcher.tenures.map((tenure) => tenure.generation),
    [generation],
  )
})

/** Notes every statement that sidecars send, for as long as `during` takes: each has a beginning of its own. */
async function statementsIn(session: pg.Client, during: () => boolean): Promise<number> {
  const statements = new Set<string>()
  const look = async () => {
    const { rows } = await session.query<{ statement: string }>(
      `SELECT pid || ' ' || query_start AS statement FROM pg_stat_activity
       WHERE application_name = 'tenure' AND datname = current_database()`,
    )
    return rows.map(({ statement }) => statement)
  }
  const before = new Set(await look())
  await until('it is over', async () => {
    for (const statement of await look()) if (!before.has(statement)) statements.add(statement)
    return during() ? null : true
  })
  return statements.size
}

test('with no event, each candidate asks PostgreSQL at most once in half a ttl', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  await withFleet(t, { args: flags }, async (fleet) => {
    const { answer } = await fleet.leader()
    const halfMs = TIMING.ttlMs / 2
    const ledMs = performance.now()
    await until('the start is over', () => (performance.now() - ledMs > halfMs ? true : null))
    const session = await bench.session()
    const fromMs = performance.now()
    const asked = await statementsIn(session, () => performance.now() - fromMs < QUIET_HALVES * halfMs)
    const halves = (performance.now() - fromMs) / halfMs
    t.diagnostic(`${asked} requests of ${fleet.members.length} candidates in ${halves.toFixed(2)} half ttl`)
    // One more each: the first may come at once.
    const most = fleet.members.length * (Math.floor(halves) + 1)
    const least = fleet.members.length * (Math.floor(halves) - 1)
    assert.ok(asked >= least && asked <= most, `${asked} requests, not ${least} to ${most}`)
    assert.equal((await fleet.leader()).answer.generation, answer.generation)
  })
})
