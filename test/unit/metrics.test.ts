import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { RequestReport } from '../../src/election/monitor.ts'
import { REASONS, STATES, type Status } from '../../src/election/status.ts'
import { createMetrics, type Metrics } from '../../src/metrics/metrics.ts'
import { ManualClock } from '../support/clock.ts'
import { FakeElection, FOLLOWING, LEADING, startRig } from './http-fixtures.ts'

const NAMES = ['blue', 'green']

interface Scraped {
  readonly metrics: Metrics
  readonly clock: ManualClock
  readonly blue: FakeElection
  /** The value of one series, written as in the text; undefined when it is absent. */
  value(series: string): Promise<number | undefined>
}

function start(t: TestContext, status: Status = FOLLOWING): Scraped {
  const clock = new ManualClock()
  const elections = NAMES.map((name) => ({ name, ttlMs: 15_000, marginMs: 3_000 }))
  const metrics = createMetrics({ clock, elections, build: { version: '1.2.3', store: 'sqlite' } })
  t.after(() => metrics.close())
  const blue = new FakeElection('blue', status)
  metrics.observe([blue])
  const value = async (series: string): Promise<number | undefined> =>
    seriesOf(await metrics.registry.metrics()).get(series)
  return { metrics, clock, blue, value }
}

/** Reads the text format; fails on a line that is none of its kinds. */
function seriesOf(text: string): Map<string, number> {
  const found = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# ')) continue
    const [, series, number] = /^([a-z_]+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? []
    assert.ok(series !== undefined && number !== undefined, `not a sample: ${line}`)
    assert.ok(!found.has(series), `twice: ${series}`)
    found.set(series, Number(number))
  }
  return found
}

const FAMILIES = {
  tenure_is_leader: 'gauge',
  tenure_has_leader: 'gauge',
  tenure_twin_identity: 'gauge',
  tenure_generation: 'gauge',
  tenure_state: 'gauge',
  tenure_lease_remaining_seconds: 'gauge',
  tenure_transitions_total: 'counter',
  tenure_store_requests_total: 'counter',
  tenure_store_request_duration_seconds: 'histogram',
  tenure_renew_slack_seconds: 'histogram',
  tenure_leaderless_seconds: 'histogram',
  tenure_last_success_timestamp_seconds: 'gauge',
  tenure_pauses_total: 'counter',
  tenure_pause_seconds_total: 'counter',
  tenure_history_failures_total: 'counter',
  tenure_event_loop_lag_seconds: 'gauge',
  tenure_http_subscribers: 'gauge',
  tenure_ttl_seconds: 'gauge',
  tenure_margin_seconds: 'gauge',
  tenure_build_info: 'gauge',
  leader_election_master_status: 'gauge',
  process_resident_memory_bytes: 'gauge',
}
const OF_THE_PROCESS = ['tenure_event_loop_lag_seconds', 'tenure_build_info', 'process_resident_memory_bytes']

test('the families are exactly those documented, each with a help and a type', async (t) => {
  const { metrics } = start(t)
  const text = await metrics.registry.metrics()
  const types = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, type]) => [name, type])
  assert.deepEqual(Object.fromEntries(types), FAMILIES)
  const helps = Array.from(text.matchAll(/^# HELP (\S+) \S.*$/gm), ([, name]) => name)
  assert.deepEqual(helps.toSorted(), Object.keys(FAMILIES).toSorted())
})

test('every family of an election has series for each election before anything runs', async (t) => {
  const { metrics } = start(t)
  const series = [...seriesOf(await metrics.registry.metrics()).keys()]
  for (const family of Object.keys(FAMILIES)) {
    const own = series.filter((name) => name.startsWith(family))
    assert.ok(own.length > 0, `${family} has no series`)
    if (OF_THE_PROCESS.includes(family)) continue
    const label = family === 'leader_election_master_status' ? 'name' : 'election'
    for (const name of NAMES) {
      assert.ok(
        own.some((one) => one.includes(`${label}="${name}"`)),
        `${family} of ${name}`,
      )
    }
  }
})

test('no event adds a series: those that can occur are there from the start', async (t) => {
  const { metrics } = start(t)
  const before = [...seriesOf(await metrics.registry.metrics()).keys()].toSorted()
  const { monitor } = metrics
  const states = { ...FOLLOWING, election: 'blue' }
  const happen = [
    ['following', 'lost'],
    ['leading', 'elected'],
    ['draining', 'shutdown'],
    ['stopped', 'shutdown'],
  ] as const
  for (const [to, reason] of happen) {
    monitor.transition({ revision: 'a', from: 'following', to, reason, generation: 1 }, states)
  }
  metrics.historyFailed('blue')
  monitor.request(report({ op: 'acquire', result: 'granted', leaderlessMs: 200 }))
  monitor.request(report({ op: 'renew', result: 'granted', slackMs: 4_500 }))
  monitor.request(report({ op: 'release', result: 'released' }))
  monitor.request(report({ op: 'current', result: 'timeout' }))
  monitor.paused('blue', 300)
  assert.deepEqual([...seriesOf(await metrics.registry.metrics()).keys()].toSorted(), before)
})

function report(some: Partial<RequestReport>): RequestReport {
  const common = { election: 'blue', op: 'renew', result: 'granted', durationMs: 12 } as const
  return { ...common, slackMs: null, leaderlessMs: null, error: null, ...some }
}

test('counters and histograms count what the elections report', async (t) => {
  const { metrics, value } = start(t)
  const { monitor } = metrics
  const transition = {
    revision: 'a',
    from: 'following',
    to: 'leading',
    reason: 'elected',
    generation: 1,
  } as const
  monitor.transition(transition, { ...LEADING, election: 'blue' })
  monitor.request(report({ slackMs: 4_500 }))
  monitor.request(report({ op: 'acquire', leaderlessMs: 200 }))
  monitor.paused('blue', 1_500)
  monitor.holder({ ...FOLLOWING, election: 'blue' })
  assert.equal(await value('tenure_transitions_total{election="blue",to="leading",reason="elected"}'), 1)
  assert.equal(await value('tenure_transitions_total{election="green",to="leading",reason="elected"}'), 0)
  assert.equal(await value('tenure_store_requests_total{election="blue",op="renew",result="granted"}'), 1)
  assert.equal(await value('tenure_store_request_duration_seconds_sum{election="blue",op="renew"}'), 0.012)
  assert.equal(await value('tenure_renew_slack_seconds_sum{election="blue"}'), 4.5)
  assert.equal(await value('tenure_leaderless_seconds_count{election="blue"}'), 1)
  assert.equal(await value('tenure_leaderless_seconds_sum{election="blue"}'), 0.2)
  assert.equal(await value('tenure_pauses_total{election="blue"}'), 1)
  assert.equal(await value('tenure_pause_seconds_total{election="blue"}'), 1.5)
})

test('gauges are computed at the scrape, without anything having been told', async (t) => {
  const { blue, value, clock } = start(t)
  assert.equal(await value('tenure_is_leader{election="blue"}'), 0)
  assert.equal(await value('tenure_has_leader{election="blue"}'), 1)
  assert.equal(await value('tenure_generation{election="blue"}'), 6)
  blue.now = { ...LEADING, election: 'blue' }
  assert.equal(await value('tenure_is_leader{election="blue"}'), 1)
  assert.equal(await value('leader_election_master_status{name="blue"}'), 1)
  assert.equal(await value('tenure_generation{election="blue"}'), 7)
  assert.equal(await value('tenure_lease_remaining_seconds{election="blue"}'), 9.8765)
  const success = await value('tenure_last_success_timestamp_seconds{election="blue"}')
  assert.equal(success, (clock.date() - 12) / 1_000)
  assert.equal(await value('tenure_ttl_seconds{election="blue"}'), 15)
  assert.equal(await value('tenure_margin_seconds{election="blue"}'), 3)
})

test('an election is in one state, and the states are those of the contract', async (t) => {
  const { blue, value } = start(t)
  for (const state of STATES) {
    blue.now = { ...FOLLOWING, election: 'blue', state }
    for (const one of STATES) {
      assert.equal(await value(`tenure_state{election="blue",state="${one}"}`), one === state ? 1 : 0)
    }
  }
  for (const state of STATES) assert.equal(await value(`tenure_state{election="green",state="${state}"}`), 0)
})

test('a lease that has run out, or is free, has no leader; one of unknown length counts for one ttl', async (t) => {
  const { blue, value } = start(t)
  const seen = { holder: 'pod-b', generation: 6, expiresInMs: 1, observedAgeMs: 0 }
  const cases = [
    [seen, 1],
    [{ ...seen, expiresInMs: 0 }, 0],
    [{ ...seen, holder: null }, 0],
    [{ ...seen, expiresInMs: null, observedAgeMs: 14_999 }, 1],
    [{ ...seen, expiresInMs: null, observedAgeMs: 15_000 }, 0],
    [null, 0],
  ] as const
  for (const [current, expected] of cases) {
    blue.now = { ...FOLLOWING, election: 'blue', current }
    assert.equal(await value('tenure_has_leader{election="blue"}'), expected, JSON.stringify(current))
  }
})

test('a lease that is held under our identity and not by us is a twin’s, as long as it has not run out', async (t) => {
  const { blue, value } = start(t)
  const status = { ...FOLLOWING, election: 'blue' }
  const own = { holder: status.identity, generation: 6, expiresInMs: 1, observedAgeMs: 0 }
  const draining = { generation: 6, leaseRemainingMs: 1 }
  const cases: readonly [Status, number][] = [
    [{ ...status, current: own }, 1],
    [{ ...status, current: own, state: 'observing' }, 1],
    [{ ...status, current: { ...own, expiresInMs: 0 } }, 0],
    [{ ...status, current: { ...own, expiresInMs: null, observedAgeMs: 14_999 } }, 1],
    [{ ...status, current: { ...own, holder: 'somebody else' } }, 0],
    [{ ...status, current: { ...own, holder: null } }, 0],
    [{ ...status, current: null }, 0],
    [{ ...LEADING, identity: status.identity, election: 'blue', current: own }, 0],
    [{ ...status, current: own, state: 'draining', draining }, 0],
  ]
  for (const [now, expected] of cases) {
    blue.now = now
    assert.equal(await value('tenure_twin_identity{election="blue"}'), expected, JSON.stringify(now.current))
  }
})

test('a draining tenure is still held: it has a generation and a rest, and is no leader', async (t) => {
  const { blue, value } = start(t)
  const draining = { generation: 9, leaseRemainingMs: 2_500 }
  blue.now = { ...FOLLOWING, election: 'blue', state: 'draining', draining, current: null }
  assert.equal(await value('tenure_is_leader{election="blue"}'), 0)
  assert.equal(await value('tenure_has_leader{election="blue"}'), 1)
  assert.equal(await value('tenure_generation{election="blue"}'), 9)
  assert.equal(await value('tenure_lease_remaining_seconds{election="blue"}'), 2.5)
})

test('the build names the version, the runtime and the store', async (t) => {
  const { value } = start(t)
  assert.equal(await value(`tenure_build_info{version="1.2.3",node="${process.version}",store="sqlite"}`), 1)
})

test('a loop that was held up shows in the lag, once', async (t) => {
  const { value } = start(t)
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 120))
  await turn()
  const until = performance.now() + 400
  while (performance.now() < until);
  await turn()
  const lagS = (await value('tenure_event_loop_lag_seconds')) ?? 0
  assert.ok(lagS > 0.3, `lag ${lagS} s after 0.4 s`)
  const afterwardsS = (await value('tenure_event_loop_lag_seconds')) ?? Number.NaN
  assert.ok(afterwardsS < 0.3, `lag ${afterwardsS} s in the next scrape`)
})

test('readers on the line are counted by their kind', async (t) => {
  const { metrics, value } = start(t)
  assert.equal(await value('tenure_http_subscribers{election="blue",kind="events"}'), 0)
  metrics.countSubscribers((election, kind) => (election === 'blue' && kind === 'events' ? 3 : 1))
  assert.equal(await value('tenure_http_subscribers{election="blue",kind="events"}'), 3)
  assert.equal(await value('tenure_http_subscribers{election="blue",kind="long_poll"}'), 1)
})

test('a status that cannot be computed fails the scrape: no series says "leading"', async (t) => {
  const { metrics, blue } = start(t, LEADING)
  const { ask } = await startRig(t, { elections: [blue], registry: metrics.registry })
  assert.match((await ask('/metrics')).text, /tenure_is_leader\{election="blue"\} 1/)
  blue.fault = new Error('the boot clock is gone')
  const { status, text } = await ask('/metrics')
  assert.equal(status, 500)
  assert.doesNotMatch(text, /tenure_is_leader/)
})

test('a scrape promises nothing', async (t) => {
  const { metrics, blue } = start(t, LEADING)
  await metrics.registry.metrics()
  assert.equal(blue.promises, 0)
})

test('a pair that was not foreseen is counted all the same', async (t) => {
  const { metrics, value } = start(t)
  const [reason] = REASONS
  metrics.monitor.transition(
    { revision: 'a', from: 'leading', to: 'stopped', reason, generation: 1 },
    { ...FOLLOWING, election: 'blue' },
  )
  assert.equal(await value('tenure_transitions_total{election="blue",to="stopped",reason="started"}'), 1)
})
