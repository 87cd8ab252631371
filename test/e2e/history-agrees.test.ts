/**
 * The history of a real run against two who saw it from outside: one who looked at the lease in the store all the time,
 * and one who asked every sidecar who leads; and against what the metrics counted.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import pg from 'pg'
import { systemClock } from '../../src/clock/system-clock.ts'
import { type Fleet, withFleet } from '../support/fleet.ts'
import { PostgresBench } from '../support/postgres-bench.ts'
import { type SidecarProcess, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TEST_TIMEOUT_MS = 120_000
/** How well all of them have to agree. */
const AGREE_MS = 100
const LOOK_EVERY_MS = 5
const FROZEN_ENDINGS = new Set(['deadline', 'lost'])

const folder = tempFolder()
after(() => folder.remove())
const bench = await PostgresBench.start()

interface Tenure {
  readonly holder: string | null
  readonly generation: number
  readonly from: string
  readonly until: string | null
  readonly reason: string | null
  readonly leaderlessMs: number | null
}

interface Body {
  readonly source: string
  readonly error: unknown
  readonly tenures: readonly Tenure[]
}

/** The lease at one moment: under which generation it was held, or 0; milliseconds since 1970 on the store's clock. */
interface Look {
  readonly atMs: number
  readonly generation: number
}

type Looker = () => Promise<Look>

/** For each tenure the moments between which it must have begun, and must have ended. */
interface Bounds {
  readonly generation: number
  readonly beganAfterMs: number
  readonly beganBeforeMs: number
  readonly endedAfterMs: number
  readonly endedBeforeMs: number
}

class Observer {
  readonly #looks: Look[] = []
  readonly #done: Promise<void>
  #stopped = false

  constructor(look: Looker) {
    this.#done = this.#watch(look)
  }

  async #watch(look: Looker): Promise<void> {
    while (!this.#stopped) {
      this.#looks.push(await look())
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }

  /** Waits until this tenure was seen: an observer looks now and then, and must not miss a short one. */
  async saw(generation: number): Promise<void> {
    await until(`the observer saw generation ${generation}`, () =>
      this.#looks.some((look) => look.generation === generation) ? true : null,
    )
  }

  async stop(): Promise<readonly Bounds[]> {
    this.#stopped = true
    await this.#done
    const found = new Map<number, Bounds>()
    for (const [i, { generation, atMs }] of this.#looks.entries()) {
      if (generation === 0) continue
      const beganAfterMs = this.#looks[i - 1]?.atMs ?? atMs
      const next = this.#looks[i + 1]?.atMs ?? Number.POSITIVE_INFINITY
      const known = found.get(generation)
      found.set(generation, {
        generation,
        beganAfterMs: known?.beganAfterMs ?? beganAfterMs,
        beganBeforeMs: known?.beganBeforeMs ?? atMs,
        endedAfterMs: atMs,
        endedBeforeMs: next,
      })
    }
    return [...found.values()]
  }
}

async function postgresLooker(election: string): Promise<{ look: Looker; close: () => Promise<void> }> {
  const client = new pg.Client(bench.url)
  await client.connect()
  const text = `SELECT (extract(epoch FROM t.now) * 1000)::float8 AS at,
      (CASE WHEN l.session IS NOT NULL AND l.expires_at > t.now THEN l.generation ELSE 0 END)::float8 AS generation
    FROM (SELECT clock_timestamp() AS now OFFSET 0) t LEFT JOIN tenure.lease l ON l.election = $1`
  return {
    look: async () => {
      const { rows } = await client.query<{ at: number; generation: number }>(text, [election])
      return { atMs: rows[0]?.at ?? 0, generation: rows[0]?.generation ?? 0 }
    },
    close: () => client.end(),
  }
}

async function sqliteLooker(
  election: string,
  path: string,
): Promise<{ look: Looker; close: () => Promise<void> }> {
  const clock = systemClock()
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const text = 'SELECT generation, session, expires_boot_ms AS expires FROM lease WHERE election = ?'
  const read = database.prepare(text)
  return {
    look: async () => {
      const row = read.get(election)
      const [atMs, { bootMs }] = [clock.date(), clock.now()]
      const held = row !== undefined && row.session !== null && Number(row.expires) > bootMs
      return { atMs, generation: held ? Number(row.generation) : 0 }
    },
    close: async () => database.close(),
  }
}

async function historyOf(sidecar: SidecarProcess): Promise<Body> {
  const answer = await sidecar.ask('/v1/history')
  assert.equal(answer?.status, 200)
  return JSON.parse(answer.body) as Body
}

/** What the metrics of every process that ever ran add up to; of a killed one, as they were last. */
class Metrics {
  readonly #last = new Map<SidecarProcess, string>()

  async scrape(fleet: Fleet): Promise<void> {
    for (const member of fleet.members) {
      const answer = member.ended ? null : await member.ask('/metrics')
      if (answer !== null) this.#last.set(member, answer.body)
    }
  }

  sum(series: RegExp): number {
    let sum = 0
    for (const text of this.#last.values()) {
      for (const line of text.split('\n')) if (series.test(line)) sum += Number(line.split(' ').at(-1))
    }
    return sum
  }
}

/** Waits until somebody who can only have read of this tenure tells of it. */
async function written(fleet: Fleet, by: SidecarProcess, generation: number): Promise<void> {
  await until(`generation ${generation} is written down`, async () => {
    const { tenures } = await historyOf(fleet.others(by)[0] as SidecarProcess)
    // Whoever only saw it does not know this.
    return tenures.some((one) => one.generation === generation && one.leaderlessMs !== null) ? true : null
  })
}

/** Hands change in every way there is; returns why each tenure ended, in order. */
async function play(
  fleet: Fleet,
  metrics: Metrics,
  observer: Observer,
): Promise<readonly (string | ReadonlySet<string>)[]> {
  let { by, answer } = await fleet.leader()
  const generationOf = () => answer.generation ?? 0
  const next = async () => {
    ;({ by, answer } = await fleet.watcher.above(generationOf()))
    await observer.saw(generationOf())
    await metrics.scrape(fleet)
  }
  await observer.saw(generationOf())
  await metrics.scrape(fleet)

  await by.post('/v1/resign', {})
  await next()

  fleet.watcher.waive(generationOf(), performance.now())
  await by.post('/v1/drained', { generation: generationOf() })
  await next()

  by.kill('SIGKILL')
  await next()

  await fleet.add()
  await metrics.scrape(fleet)
  by.kill('SIGTERM')
  await next()

  // A request that is under way when the process freezes would count as a failure afterwards.
  await written(fleet, by, generationOf())
  await by.freeze()
  const frozen = by
  await next()
  frozen.thaw()
  await until('the frozen one knows', async () => ((await frozen.report())?.leading === false ? true : null))
  return ['resigned', 'drained', 'expired', 'shutdown', FROZEN_ENDINGS]
}

function assertReasons(tenures: readonly Tenure[], reasons: readonly (string | ReadonlySet<string>)[]): void {
  assert.equal(tenures.length, reasons.length + 1)
  for (const [i, { reason, generation }] of tenures.entries()) {
    const expected = reasons[i]
    const fits =
      typeof expected === 'string' ? reason === expected : (expected?.has(reason ?? '') ?? reason === null)
    assert.ok(fits, `generation ${generation} ended by ${reason}`)
  }
}

/** A moment lies between two looks, give or take what is allowed. */
function assertBetween(ms: number, afterMs: number, beforeMs: number, what: string): void {
  assert.ok(
    ms >= afterMs - AGREE_MS && ms <= beforeMs + AGREE_MS,
    `${what}: ${ms} is not between ${afterMs} and ${beforeMs}`,
  )
}

function assertObserved(tenures: readonly Tenure[], observed: readonly Bounds[]): void {
  assert.deepEqual(
    tenures.map(({ generation }) => generation),
    observed.map(({ generation }) => generation),
    'the observer saw other tenures',
  )
  for (const [i, tenure] of tenures.entries()) {
    const seen = observed[i] as Bounds
    const last = observed[i - 1]
    const name = `generation ${tenure.generation}`
    const fromMs = Date.parse(tenure.from)
    assertBetween(fromMs, seen.beganAfterMs, seen.beganBeforeMs, `${name} from`)
    if (tenure.until !== null) {
      assertBetween(Date.parse(tenure.until), seen.endedAfterMs, seen.endedBeforeMs, `${name} until`)
    }
    if (last === undefined) continue
    assert.ok(tenure.leaderlessMs !== null, name)
    const leastMs = seen.beganAfterMs - last.endedBeforeMs
    const mostMs = seen.beganBeforeMs - last.endedAfterMs
    assertBetween(tenure.leaderlessMs, leastMs, mostMs, `${name} leaderless`)
  }
}

/** Whoever was told "leading", and for how long, was so within the tenure that is written down. */
function assertAnswered(tenures: readonly Tenure[], fleet: Fleet): void {
  const { timeOrigin } = performance
  for (const { generation, who, fromMs, untilMs } of fleet.watcher.tenures) {
    const written = tenures.find((tenure) => tenure.generation === generation)
    assert.equal(written?.holder, who, `generation ${generation}; ${fleet.watcher.story()}`)
    assert.ok(Date.parse(written.from) <= timeOrigin + fromMs + AGREE_MS, `${generation} answered before`)
    if (written.until === null) continue
    assert.ok(timeOrigin + untilMs <= Date.parse(written.until) + AGREE_MS, `${generation} answered after`)
  }
}

function assertCounted(tenures: readonly Tenure[], metrics: Metrics): void {
  assert.equal(metrics.sum(/^tenure_transitions_total\{[^}]*to="leading"/), tenures.length)
  const told = tenures.filter(({ leaderlessMs }) => leaderlessMs !== null)
  assert.equal(metrics.sum(/^tenure_leaderless_seconds_count/), told.length)
  const countedMs = metrics.sum(/^tenure_leaderless_seconds_sum/) * 1_000
  const writtenMs = told.reduce((sum, { leaderlessMs }) => sum + (leaderlessMs ?? 0), 0)
  assert.ok(Math.abs(countedMs - writtenMs) <= told.length, `${countedMs} counted, ${writtenMs} ms written`)
  assert.equal(metrics.sum(/^tenure_history_failures_total/), 0)
}

async function settledHistory(fleet: Fleet, tenures: number): Promise<readonly Tenure[]> {
  const members = fleet.others()
  const bodies = await until('every sidecar tells the same, all of it from the store', async () => {
    const all = await Promise.all(members.map(historyOf))
    const isSettled = all.every(
      ({ tenures: told }) =>
        told.length === tenures &&
        told.slice(0, -1).every(({ reason }) => reason !== null && reason !== 'unknown'),
    )
    const same = new Set(all.map((body) => JSON.stringify(body))).size === 1
    return isSettled && same ? all : null
  })
  assert.deepEqual([bodies[0]?.source, bodies[0]?.error], ['store', null])
  return bodies[0]?.tenures ?? []
}

const STORES = {
  SQLite: {
    flags: ['--store', `sqlite:${join(folder.path, 'tenure.db')}`, '--ttl', '2s'],
    look: (election: string) => sqliteLooker(election, join(folder.path, 'tenure.db')),
  },
  PostgreSQL: { flags: ['--store', bench.url, '--ttl', '3s'], look: postgresLooker },
} as const

for (const [store, { flags, look }] of Object.entries(STORES)) {
  test(`${store}: the history is what an observer of the lease, those who asked, and the metrics saw`, {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    await withFleet(t, { args: flags, size: 0 }, async (fleet) => {
      const metrics = new Metrics()
      // The first one makes the file that the observer opens; it waits for the observer before it may lead.
      await fleet.add('--observer')
      const { look: looker, close } = await look(fleet.election)
      t.after(close)
      const observer = new Observer(looker)
      await Promise.all([fleet.add(), fleet.add(), fleet.add()])
      const reasons = await play(fleet, metrics, observer)
      const tenures = await settledHistory(fleet, reasons.length + 1)
      await metrics.scrape(fleet)
      const observed = await observer.stop()
      assertReasons(tenures, reasons)
      assertObserved(tenures, observed)
      assertAnswered(tenures, fleet)
      assertCounted(tenures, metrics)
    })
  })
}
