/** The history on PostgreSQL fails in every way there is, and no election takes notice. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RETRY_MS } from '../../src/election/history-keeper.ts'
import { grantsFor, historyGrantFor, RIGHTS } from '../../src/stores/postgres/grants.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import { withFleet } from '../support/fleet.ts'
import { newElection, PostgresBench, settingsFor } from '../support/postgres-bench.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'

const TEST_TIMEOUT_MS = 90_000
const TTL_MS = 3_000
/** Long enough for several renewals, and for several attempts of the history. */
const LOCKED_MS = 11_000
/** A question has a second, and then some on a busy machine. */
const ANSWER_MOST_MS = 1_600

const bench = await PostgresBench.start()

interface Told {
  readonly source: string
  readonly error: { readonly kind: string; readonly message: string } | null
  readonly tenures: readonly {
    readonly holder: string | null
    readonly generation: number
    readonly until: string | null
    readonly reason: string | null
    readonly leaderlessMs: number | null
  }[]
}

async function told(one: SidecarProcess): Promise<Told> {
  const answer = await one.ask('/v1/history')
  assert.equal(answer?.status, 200)
  return JSON.parse(answer.body) as Told
}

async function failures(one: SidecarProcess): Promise<number> {
  const metrics = await one.ask('/metrics')
  const value = /^tenure_history_failures_total\{[^}]*\} (\d+)$/m.exec(metrics?.body ?? '')?.[1]
  assert.ok(value !== undefined, 'the series is there from the start')
  return Number(value)
}

function notes(one: SidecarProcess): readonly string[] {
  return one.log.filter(({ event }) => event === 'store_note').map(({ detail }) => detail ?? '')
}

async function rows(election: string): Promise<readonly (readonly [number, string | null])[]> {
  const found = await bench.sql<{ generation: string; reason: string | null }>(
    'SELECT generation, reason FROM tenure.history WHERE election = $1 ORDER BY generation',
    [election],
  )
  return found.map(({ generation, reason }) => [Number(generation), reason])
}

async function waitingBackends(): Promise<number> {
  const [row] = await bench.sql<{ n: number }>(
    `SELECT count(*)::int4 AS n FROM pg_stat_activity WHERE application_name = 'tenure' AND wait_event_type = 'Lock'`,
  )
  return row?.n ?? 0
}

const flags = (url = bench.url) => ['--store', url, '--ttl', `${TTL_MS}ms`, '--log-level', 'debug']

async function leader(t: TestContext, election: string, args = flags()): Promise<SidecarProcess> {
  const one = await sidecar(t, 'one', [...args, '--election', election])
  await one.leads()
  return one
}

/** Locks the whole table until the returned function is called. */
async function lockHistory(): Promise<() => Promise<void>> {
  const blocker = await bench.session()
  await blocker.query('BEGIN; LOCK TABLE tenure.history IN ACCESS EXCLUSIVE MODE')
  return async () => {
    await blocker.query('COMMIT')
  }
}

/** Puts the table and its migration back as they were. */
async function restoreHistory(): Promise<void> {
  await bench.sql('DROP TABLE IF EXISTS tenure.history; DELETE FROM tenure.migration WHERE number = 5')
  await migrate(settingsFor(bench.url), bench.context())
}

test('behind a lock on the whole table a leader is elected and renews in time, and is written down afterwards', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const unlock = await lockHistory()
  const election = newElection()
  const one = await leader(t, election)
  const generation = (await one.leadership())?.generation
  const renewals = () => one.log.filter(({ event }) => event === 'renewed')
  const untilMs = performance.now() + LOCKED_MS
  let mostWaiting = 0
  let longestMs = 0
  while (performance.now() < untilMs) {
    const from = performance.now()
    const { source, error, tenures } = await told(one)
    longestMs = Math.max(longestMs, performance.now() - from)
    assert.equal(source, 'memory')
    assert.equal(error?.kind, 'unavailable')
    assert.deepEqual(
      tenures.map((tenure) => tenure.generation),
      [generation],
    )
    mostWaiting = Math.max(mostWaiting, await waitingBackends())
    await sleep(100)
  }
  assert.equal((await one.leadership())?.generation, generation, 'the tenure went on')
  assert.ok(renewals().length >= Math.floor(LOCKED_MS / (TTL_MS / 2)) - 1, `${renewals().length} renewals`)
  const slowMs = Math.max(...renewals().map(({ durationMs }) => durationMs ?? 0))
  assert.ok(slowMs < 500, `a renewal took ${slowMs} ms`)
  assert.ok(longestMs < ANSWER_MOST_MS, `a question took ${longestMs} ms`)
  assert.ok(mostWaiting <= 3, `${mostWaiting} server processes waited at once`)
  assert.ok((await failures(one)) >= 2)
  await unlock()
  await until(
    'it is written down',
    async () => ((await rows(election)).length > 0 ? true : null),
    RETRY_MS * 3,
  )
  const after = await told(one)
  assert.deepEqual([after.source, after.error], ['store', null])
})

test('a leader that is killed before it was written down is written down by the next one', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  await withFleet(t, { args: flags(), size: 2 }, async (fleet) => {
    const unlock = await lockHistory()
    const { by, answer } = await fleet.leader()
    by.kill('SIGKILL')
    await by.exited()
    await unlock()
    const next = await fleet.watcher.above(answer.generation ?? 0)
    const tenures = await until('the next one wrote', async () => {
      const all = (await told(next.by)).tenures
      return all.length === 2 && all[0]?.reason === 'expired' ? all : null
    })
    assert.equal(tenures[0]?.holder, by.identity)
    assert.deepEqual(await rows(fleet.election), [
      [answer.generation, 'expired'],
      [next.answer.generation, null],
    ])
  })
})

test('a table that is dropped under a leader is told once, and hands change all the same', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  t.after(restoreHistory)
  await withFleet(t, { args: flags(), size: 2 }, async (fleet) => {
    const { by, answer } = await fleet.leader()
    await until('it is written down', async () => ((await rows(fleet.election)).length > 0 ? true : null))
    await bench.sql('DROP TABLE tenure.history')
    const { source, error, tenures } = await told(by)
    assert.deepEqual([source, error?.kind], ['memory', 'schema'])
    assert.match(error?.message ?? '', /tenure migrate/)
    assert.equal(tenures.at(-1)?.generation, answer.generation)
    const before = await failures(by)
    await by.post('/v1/resign', {})
    const next = await fleet.watcher.above(answer.generation ?? 0)
    await until('the end could not be written', async () => ((await failures(by)) > before ? true : null))
    for (const member of [by, next.by]) {
      await told(member)
      const said = notes(member).filter((note) => /history/.test(note))
      assert.equal(said.length, 1, said.join('\n'))
    }
    assert.equal((await by.report())?.store.error, null, 'it is no fault of the lease')
  })
})

test('a candidate without the right elects, names the GRANT, and writes once it was given', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const role = await bench.server.createRole()
  await bench.sql(grantsFor(RIGHTS, role))
  const election = newElection()
  const one = await leader(t, election, flags(bench.server.url(bench.database, role)))
  const note = await until(
    'it says what is missing',
    () => notes(one).find((text) => /GRANT/.test(text)) ?? null,
  )
  const grant = historyGrantFor(role)
  assert.ok(note.endsWith(`run ${grant}`), note)
  const { source, error } = await told(one)
  assert.deepEqual([source, error?.kind], ['memory', 'denied'])
  assert.equal((await one.ask('/readyz'))?.status, 200)
  await bench.sql(grant)
  assert.equal((await told(one)).source, 'store')
  await one.post('/v1/resign', {})
  await until('the end tells all of it', async () => {
    const [row] = await rows(election)
    return row?.[1] === 'resigned' ? true : null
  })
})

test('a schema without the migration elects, and serves once `tenure migrate` ran', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  t.after(restoreHistory)
  await bench.sql('DROP TABLE tenure.history; DELETE FROM tenure.migration WHERE number = 5')
  const one = await leader(t, newElection())
  const note = await until(
    'it says what is missing',
    () => notes(one).find((text) => /migrate/.test(text)) ?? null,
  )
  assert.match(note, /memory of this process only/)
  assert.equal((await told(one)).source, 'memory')
  assert.deepEqual((await migrate(settingsFor(bench.url), bench.context())).applied, ['0005_history'])
  assert.equal((await told(one)).source, 'store')
})

test('a server that stands still holds up no question and no shutdown for the history', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  t.after(() => bench.server.resume())
  const one = await leader(t, newElection())
  await bench.server.pause()
  const fromMs = performance.now()
  assert.equal((await told(one)).source, 'memory')
  assert.ok(performance.now() - fromMs < ANSWER_MOST_MS, `${performance.now() - fromMs} ms`)
  const endMs = performance.now()
  one.kill('SIGTERM')
  assert.equal(await one.exited(), 0)
  const tookMs = performance.now() - endMs
  assert.ok(tookMs < 1_500 + 400, `the shutdown took ${tookMs} ms`)
})
