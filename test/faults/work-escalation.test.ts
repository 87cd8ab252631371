/** No page goes out twice, and none is lost in silence: the escalation example under kills and channels that hang. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Alert, alerts } from '../../examples/escalation/alerts.ts'
import { climb } from '../../examples/escalation/climb.ts'
import { readLadder } from '../../examples/escalation/ladder.ts'
import type { Item } from '../../src/work/index.ts'
import { Random } from '../simulation/random.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/sidecar.ts'
import { EscalationBench, LEASE_MS, STEPS } from './work-escalation-bench.ts'

const TEST_MOST_MS = 90_000
const RUNNERS = ['a', 'b'] as const

/** 2,080 steps, of which a dozen hang. */
const CAMPAIGN = { alerts: 520, hangingEvery: 174 }
/** So many pages lie between two strikes at a runner. */
const PAGES_BETWEEN_STRIKES = [60, 220] as const
const STRIKES_LEAST = 6
const FREEZE_PROBABILITY = 0.25
const FROZEN_MS = 2 * LEASE_MS

const server = await startPostgres()
after(() => server.dispose())

describe('escalation', { timeout: TEST_MOST_MS }, () => {
  it('delivers each step once or lists it as unknown, while channels hang and runners are killed and frozen', async (t) => {
    const seed = Number(process.env.TENURE_TEST_SEED ?? Math.floor(Math.random() * 1e9))
    t.diagnostic(`seed ${seed} (TENURE_TEST_SEED)`)
    const bench = await EscalationBench.start(t, server, CAMPAIGN)
    const killer = new Killer(bench, new Random(seed))
    for (const name of RUNNERS) bench.startRunner(name)
    await until('every alert has climbed its ladder', () => allClimbed(bench), TEST_MOST_MS)
    await killer.stop()
    await Promise.all(RUNNERS.map((name) => bench.endRunner(name, 'SIGTERM')))
    const listed = new Set((await bench.listUnknown()).map(({ alert, step }) => `${alert}/${step}`))

    const lost = bench.lines.filter(({ op, result }) => op === 'apply' && result === 'lost').length
    const retaken = bench.lines.filter(({ result }) => result === 'retaken').length
    const longestMs = Math.max(...bench.lines.map(({ tookMs = 0 }) => tookMs))
    t.diagnostic(
      `longest batch ${longestMs} ms, ${bench.pages.length} pages, ${bench.hung} hung, ${killer.kills} kills, ${killer.freezes} freezes, ${retaken} rows retaken, ${lost} stale applies, ${listed.size} unknown`,
    )
    await assertOnceOrListed(bench, listed)
    // The rules were put to the test, and not only kept because nothing happened.
    assert.ok(killer.kills + killer.freezes >= STRIKES_LEAST, `${killer.kills} kills`)
    assert.ok(lost > 0 && retaken > 0 && listed.size > 0)
    assert.ok(longestMs > 3 * LEASE_MS, `the longest batch took ${longestMs} ms`)
    assert.equal(bench.stderr, '')
  })

  it('delivers twice once the token is not looked at: the harness can fail', async (t) => {
    const bench = await EscalationBench.start(t, server, { alerts: 200, hangingEvery: 25, blind: true })
    for (const name of RUNNERS) bench.startRunner(name)
    const twice = await until('a page went out twice', async () => {
      const double = [...bench.arrivals()].find(([, count]) => count > 1)
      if (double !== undefined) return double
      assert.equal(await allClimbed(bench), null, `no page went out twice\n${bench.stderr}`)
      return null
    })
    t.diagnostic(`${twice[0]} arrived ${twice[1]} times, after ${bench.pages.length} pages`)
  })

  it('does not deliver an alert that stopped firing between claim and apply', async (t) => {
    const { runner, bench, claim } = await calm(t)
    const item = await claim()
    await bench.pool.query('UPDATE escalation.alert SET firing = false')
    assert.equal(await climb(runner, item), 'not applied')
    assert.deepEqual(bench.pages, [])
    assert.deepEqual(await bench.listUnknown(), [])
    const { rows } = await bench.pool.query('SELECT step, leased_until, lease_token FROM escalation.alert')
    assert.deepEqual(rows, [{ step: 0, leased_until: null, lease_token: null }])
  })

  it('applied late, under a token that nobody replaced, delivers once; and never again under that token', async (t) => {
    const { runner, bench, claim } = await calm(t)
    const item = await claim()
    await bench.pool.query(`UPDATE escalation.alert SET leased_until = clock_timestamp() - interval '1 s'`)
    assert.deepEqual([await climb(runner, item), await climb(runner, item)], ['delivered', 'not applied'])
    assert.equal(bench.pages.length, 1)
  })

  it('lists a step whose channel refused, broke off or said nothing by what is known of it', async (t) => {
    const { runner, bench, claim } = await calm(t)
    const answers = [400, 500, 0]
    const server = createServer((_, response) => {
      const status = answers.shift() ?? 200
      if (status === 0) response.destroy()
      else response.writeHead(status).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
    const ladder = runner.ladder.map((rung) => ({ ...rung, waitMs: 0, channel: { ...rung.channel, url } }))
    const became: string[] = []
    for (const _ of [400, 500, 0]) became.push(await climb({ ...runner, ladder }, await claim()))
    assert.deepEqual(became, ['refused', 'unknown', 'unknown'])
    assert.deepEqual(
      (await bench.listUnknown()).map(({ step }) => step),
      [1, 2],
    )
  })
})

/** One alert, and a runner in this process. */
async function calm(t: { after(end: () => Promise<void>): void }) {
  const bench = await EscalationBench.start(t, server, { alerts: 1, hangingEvery: 1_000 })
  const work = alerts(30_000, () => undefined)
  const runner = { name: 'here', pool: bench.pool, work, ladder: await readLadder(bench.pool) }
  const claim = (): Promise<Item<Alert>> =>
    until('an alert is due', async () => (await work.claim(bench.pool, { limit: 1 }))[0] ?? null)
  return { bench, runner, claim }
}

async function allClimbed({ pool }: EscalationBench): Promise<true | null> {
  const { rows } = await pool.query('SELECT FROM escalation.alert WHERE due_at IS NOT NULL LIMIT 1')
  return rows.length === 0 ? true : null
}

async function assertOnceOrListed(bench: EscalationBench, listed: ReadonlySet<string>): Promise<void> {
  const arrivals = bench.arrivals()
  const twice = [...arrivals].filter(([, count]) => count > 1)
  assert.deepEqual(twice, [], 'pages that went out twice')
  const { rows } = await bench.pool.query<{ id: string; outcome: string }>(
    `SELECT alert_id || '/' || step AS id, outcome FROM escalation.delivery`,
  )
  const applied = new Map(rows.map(({ id, outcome }) => [id, outcome]))
  assert.equal(rows.length, CAMPAIGN.alerts * STEPS, 'each step was applied')
  assert.equal(applied.size, rows.length, 'and once')
  for (const [id, outcome] of applied) {
    if (outcome === 'delivered') assert.equal(arrivals.get(id), 1, `${id} is said to be delivered`)
    else assert.ok(listed.has(id), `${id} is ${outcome}, and not listed`)
  }
}

/** Kills one runner or the other as the seed says, and starts it again; or freezes it for longer than its lease. */
class Killer {
  kills = 0
  freezes = 0
  readonly #bench: EscalationBench
  readonly #random: Random
  #left: number
  #busy: Promise<void> = Promise.resolve()

  constructor(bench: EscalationBench, random: Random) {
    this.#bench = bench
    this.#random = random
    this.#left = this.#next()
    bench.onPage = () => {
      this.#left--
      if (this.#left > 0) return
      this.#left = this.#next()
      this.#busy = this.#busy.then(() => this.#strike())
    }
  }

  async stop(): Promise<void> {
    this.#bench.onPage = () => undefined
    await this.#busy
  }

  #next(): number {
    return Math.round(this.#random.between(...PAGES_BETWEEN_STRIKES))
  }

  async #strike(): Promise<void> {
    const name = this.#random.pick(RUNNERS)
    if (this.#random.chance(FREEZE_PROBABILITY)) {
      this.freezes++
      this.#bench.signalRunner(name, 'SIGSTOP')
      await sleep(FROZEN_MS)
      this.#bench.signalRunner(name, 'SIGCONT')
      return
    }
    this.kills++
    await this.#bench.endRunner(name, 'SIGKILL')
    this.#bench.startRunner(name)
  }
}
