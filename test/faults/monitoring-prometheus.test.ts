/**
 * A real Prometheus looks at real sidecars through a resignation, a pause, crashes, a twin and an outage of the store:
 * each alert that should fire does, and no other; and the panels of the dashboard show what happened.
 *
 * The rules are ours with every range sixty times shorter, and every `for` as well, down to four scrapes, which a
 * minute is by default. The ttl is only five times shorter than by default, so that what has to stay quiet is tried
 * harder here than in production.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { dashboard, dashboardQueries, RULES, textOf } from '../support/monitoring.ts'
import { PostgresBench } from '../support/postgres-bench.ts'
import { Prometheus, skipPrometheus } from '../support/prometheus.ts'
import { shortened } from '../support/promql.ts'
import { SidecarProcess, until } from '../support/sidecar.ts'

const SHORTER = 60
const LEAST_FOR_MS = 2_000
const NAMESPACE = 'apps'
const ELECTION = 'watched'
const TEST_TIMEOUT_MS = 150_000
const STEP_S = 0.25
/** Scrapes in which what would fire at a minute, shortened, would have fired. */
const SETTLED_SCRAPES = 7
/** Longer than the margin of 0.6 s. */
const FROZEN_S = 1.5

/** What a stretch of the story has to show. */
interface Stretch {
  readonly name: string
  /** Fires in it. */
  readonly fires: readonly string[]
  /** May still fire from before. */
  readonly lingers: readonly string[]
  readonly fromS: number
  readonly untilS: number
}

const nowS = () => Date.now() / 1_000

/** Sidecars that come and go, and the Prometheus that is told of them. */
class Scene {
  readonly prometheus: Prometheus
  readonly stretches: Stretch[] = []
  frozen: SidecarProcess | null = null
  readonly #started: SidecarProcess[] = []
  readonly #running = new Map<string, SidecarProcess>()
  readonly #args: readonly string[]

  constructor(prometheus: Prometheus, url: string) {
    this.prometheus = prometheus
    this.#args = ['--store', url, '--ttl', '3s', '--election', ELECTION]
  }

  async add(instance: string, identity = instance): Promise<SidecarProcess> {
    const one = new SidecarProcess(identity, this.#args)
    this.#started.push(one)
    this.#running.set(instance, one)
    await one.listening()
    this.#tell()
    return one
  }

  /** Ends without a word; Prometheus goes on asking. */
  async crash(instance: string): Promise<void> {
    await this.process(instance).end()
  }

  /** Its target is taken away, too. */
  async remove(instance: string): Promise<void> {
    await this.crash(instance)
    this.#running.delete(instance)
    this.#tell()
  }

  process(instance: string): SidecarProcess {
    const found = this.#running.get(instance)
    assert.ok(found !== undefined, `${instance} does not run`)
    return found
  }

  /** Whether one that nobody froze says that it stood still. */
  get stalled(): boolean {
    return this.#started.some((one) => one !== this.frozen && one.log.some(({ event }) => event === 'paused'))
  }

  async end(): Promise<void> {
    for (const one of this.#started) await one.end()
  }

  #tell(): void {
    this.prometheus.scrape([...this.#running].map(([instance, { port }]) => ({ instance, port })))
  }

  /** The one instance that leads as Prometheus sees it, as soon as it is not `but`. */
  leader(but = ''): Promise<string> {
    return until('Prometheus sees one leader', async () => {
      const series = await this.prometheus.query('tenure_is_leader == 1')
      const [first, second] = series.map(({ metric }) => metric.instance ?? '')
      return first === undefined || second !== undefined || first === but ? null : first
    })
  }

  /** Instances that Prometheus has an answer of, but for these. */
  async others(...but: readonly string[]): Promise<readonly string[]> {
    const series = await this.prometheus.query('up == 1')
    return series.map(({ metric }) => metric.instance ?? '').filter((instance) => !but.includes(instance))
  }

  /** Returns when this expression has a result. */
  async holds(expression: string): Promise<void> {
    await until(expression, async () => ((await this.prometheus.query(expression)).length > 0 ? true : null))
  }

  /** Waits for so many further scrapes of whoever leads. */
  async settle(): Promise<void> {
    const leader = await this.leader()
    await this.holds(
      `count_over_time(up{instance="${leader}"}[1h]) > ${(await this.#scrapes(leader)) + SETTLED_SCRAPES}`,
    )
  }

  async #scrapes(instance: string): Promise<number> {
    const [series] = await this.prometheus.query(`count_over_time(up{instance="${instance}"}[1h])`)
    return Number(series?.values[0]?.[1] ?? 0)
  }

  /** A stretch of the story: what happens in it, and which alerts it raises. */
  async stretch(
    name: string,
    { fires = [], lingers = [] }: { fires?: readonly string[]; lingers?: readonly string[] },
    happens: () => Promise<void>,
  ): Promise<void> {
    const fromS = nowS()
    await happens()
    await until(`${name}: ${fires.join(', ')} fire`, async () => {
      const firing = await this.prometheus.firing()
      return fires.every((alert) => firing.has(alert)) ? true : null
    })
    this.stretches.push({ name, fires, lingers, fromS, untilS: nowS() })
  }

  /** Every alert that fired in a stretch, by its name. */
  async fired({ fromS, untilS }: Stretch): Promise<ReadonlySet<string>> {
    // The last step is the instant at which the stretch was over.
    const startS = untilS - STEP_S * Math.ceil((untilS - fromS) / STEP_S)
    const series = await this.prometheus.range('ALERTS{alertstate="firing"}', startS, untilS, STEP_S)
    return new Set(series.map(({ metric }) => metric.alertname ?? ''))
  }
}

async function story(scene: Scene, bench: PostgresBench): Promise<void> {
  await scene.stretch('a leader and two followers', {}, async () => {
    await Promise.all(['a', 'b', 'c'].map((instance) => scene.add(instance)))
    await scene.leader()
  })
  await scene.stretch('a resignation', {}, async () => {
    const leader = await scene.leader()
    await scene.process(leader).post('/v1/resign', {})
    await scene.leader(leader)
    await scene.settle()
  })
  await scene.stretch('a follower that stood still', { fires: ['TenureProcessPaused'] }, async () => {
    const [frozen = ''] = await scene.others(await scene.leader())
    scene.frozen = scene.process(frozen)
    await scene.frozen.freeze()
    await scene.holds(`vector(time()) > ${nowS() + FROZEN_S}`)
    scene.frozen.thaw()
  })
  const lingers = ['TenureProcessPaused']
  await scene.stretch('the crash of a leader', { lingers }, async () => {
    const leader = await scene.leader()
    await scene.crash(leader)
    await scene.leader(leader)
    await scene.settle()
  })
  await scene.stretch('the crash of the last follower', { fires: ['TenureNoStandby'], lingers }, async () => {
    const [follower = ''] = await scene.others(await scene.leader())
    await scene.crash(follower)
  })
  const twin = { fires: ['TenureTwinIdentity'], lingers: ['TenureNoStandby'] }
  await scene.stretch('a twin of the leader', twin, async () => {
    const leader = await scene.leader()
    await scene.add('twin', scene.process(leader).identity)
  })
  await scene.stretch(
    'all is as it was',
    { lingers: ['TenureTwinIdentity', 'TenureNoStandby'] },
    async () => {
      const leader = await scene.leader()
      await scene.remove('twin')
      const crashed = ['a', 'b', 'c'].filter((instance) => instance !== leader)
      await Promise.all(crashed.map((instance) => scene.add(instance)))
      await scene.holds('count(tenure_last_success_timestamp_seconds > 0) == 3')
    },
  )
  const away = ['TenureNoLeader', 'TenureStoreUnreachable']
  await scene.stretch('the store is away', { fires: away }, async () => {
    await bench.server.stop()
    await scene.holds('count(ALERTS{alertname="TenureStoreUnreachable", alertstate="firing"}) == 3')
  })
  const outage = { fires: ['TenureSlowHandover'], lingers: away }
  await scene.stretch('the store is back', outage, async () => {
    await bench.server.start()
    await scene.leader()
  })
  await scene.stretch('it is over', { lingers: [...outage.fires, ...outage.lingers] }, async () => {
    await scene.holds('absent(ALERTS{alertstate="firing"})')
  })
}

/** A query as the dashboard would send it. */
function substituted(expression: string): string {
  return expression
    .replaceAll('$namespace', '.*')
    .replaceAll('$election', ELECTION)
    .replaceAll('$instance', '.*')
    .replaceAll('$__rate_interval', '2s')
    .replaceAll('$__interval', '1s')
}

const skip = skipPrometheus()

describe('with a real Prometheus', { skip }, () => {
  test('each alert that should fire does, no other does, and each panel shows something', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t: TestContext) => {
    const bench = await PostgresBench.start()
    const rules = shortened(textOf(RULES), SHORTER, LEAST_FOR_MS)
    const prometheus = await Prometheus.start(t, { rules, namespace: NAMESPACE })
    const scene = new Scene(prometheus, bench.url)
    t.after(() => scene.end())
    const fromS = nowS()
    await story(scene, bench)
    const untilS = nowS()
    t.diagnostic(`${(untilS - fromS).toFixed(1)} s`)

    for (const stretch of scene.stretches) {
      await t.test(`${stretch.name}: ${stretch.fires.join(' and ') || 'nothing'} fires`, async () => {
        const fired = await scene.fired(stretch)
        for (const alert of stretch.fires) assert.ok(fired.has(alert), `${alert} did not fire`)
        // On a busy machine processes do stand still, and the alert is right.
        const stalled = scene.stalled ? ['TenureProcessPaused'] : []
        const expected = [...stretch.fires, ...stretch.lingers, ...stalled]
        assert.deepEqual(
          [...fired].filter((alert) => !expected.includes(alert)),
          [],
        )
      })
    }
    for (const [what, expression] of dashboardQueries(dashboard())) {
      await t.test(`the dashboard, ${what}: has data`, async () => {
        const series = await prometheus.range(substituted(expression), fromS, untilS, 1)
        const values = series.flatMap(({ values }) => values.map(([, value]) => Number(value)))
        assert.ok(values.some(Number.isFinite), JSON.stringify(series).slice(0, 500))
      })
    }
  })
})
