/** Puts one process together: elections on a store, what watches them, and what answers for them. */
import type { ClaimDesk } from '../claims/desk.ts'
import type { Clock } from '../clock/clock.ts'
import { Pulse } from '../clock/pulse.ts'
import { formatAddress } from '../config/address.ts'
import type { LoadedConfig } from '../config/load.ts'
import { Election } from '../election/election.ts'
import { monitors } from '../election/monitor.ts'
import type { Liveness, Readiness } from '../http/elections.ts'
import { createServers, type Servers } from '../http/servers.ts'
import type { EventLog } from '../logging/logger.ts'
import { logMonitor } from '../logging/monitor.ts'
import { createMetrics, type Metrics } from '../metrics/metrics.ts'
import { openStore } from '../stores/open.ts'
import type { LeaseStore } from '../stores/store.ts'
import { HealthCheck, RequiredPolls, type Sign } from './app-health.ts'
import { createClaims } from './claims.ts'
import { historyFaults } from './history.ts'
import { Polled } from './polled.ts'

/** `/livez` fails when the loop has not turned for this long, or for one ttl where that is longer. */
const SILENT_MOST_MS = 5_000

export interface SidecarParts {
  readonly config: LoadedConfig
  readonly clock: Clock
  readonly log: EventLog
  readonly version: string
}

interface Wired extends SidecarParts {
  readonly store: LeaseStore
  readonly metrics: Metrics
  readonly elections: readonly Election[]
  readonly claims: ClaimDesk | null
}

export class RunningSidecar {
  readonly #parts: Wired
  readonly #pulse: Pulse
  readonly #servers: Servers
  readonly #signs: Sign[] = []
  #healthy = true
  #polls: RequiredPolls | null = null

  constructor(parts: Wired) {
    this.#parts = parts
    const { clock, config, elections, claims, metrics, log, version } = parts
    this.#pulse = new Pulse(
      clock,
      () => this.#beat(),
      (pauseMs) => this.#paused(pauseMs),
    )
    this.#watchApplication()
    const polls = this.#polls
    const handles = polls === null ? elections : elections.map((one) => new Polled(one, polls))
    this.#servers = createServers({
      sidecar: { elections: handles, live: () => this.live(), ready: () => this.ready() },
      registry: metrics.registry,
      clock,
      log: { error: ({ err }: { err?: unknown }, detail) => log.event('defect', { err, detail }) },
      listen: config.values.listen,
      opsListen: config.values.opsListen,
      version,
      claims,
    })
    metrics.observe(elections)
    metrics.countSubscribers((election, kind) => this.#servers.subscribers(election, kind))
  }

  /** Listens first: who cannot answer must not lead. */
  async start(): Promise<void> {
    const { log, elections } = this.#parts
    const { api, ops } = await this.#servers.start()
    log.event('listening', { url: `http://${formatAddress(api)}` })
    if (ops !== null)
      log.event('listening', { url: `http://${formatAddress(ops)}`, detail: 'probes and metrics' })
    await this.#servers.warm()
    this.#pulse.start()
    this.#judgeApplication()
    for (const election of elections) election.start()
  }

  /** Drains, keeps promises, releases; answers until all of that is done, then closes everything. */
  async stop(): Promise<void> {
    for (const sign of this.#signs) sign.stop()
    await Promise.all(this.#parts.elections.map((election) => election.stop()))
    this.#pulse.stop()
    await Promise.all([this.#servers.stop(), this.#parts.store.close()])
    this.#parts.metrics.close()
  }

  /** Ends the wait of a stop; nothing more is released. */
  abandon(): void {
    for (const election of this.#parts.elections) election.abandon()
  }

  /** The event loop turns. Nothing here asks the store. */
  live(): Liveness {
    const silentMs = Math.floor(this.#pulse.silentMs)
    const ok = silentMs < Math.max(SILENT_MOST_MS, this.#parts.config.timing.ttlMs)
    return { ok, message: `the event loop turned ${silentMs} ms ago` }
  }

  /**
   * Able to contend: the store has answered each election once, and nothing is missing that somebody would have to
   * mend. A later outage of the store changes nothing.
   */
  ready(): Readiness {
    const checks = this.#parts.elections.map((election) => {
      const { store } = election.status()
      const mended = store.error === null || store.error.kind === 'unavailable'
      const ok = store.lastSuccessAgoMs !== null && mended
      const message = ok
        ? 'the store has answered'
        : (store.error?.message ?? 'the store has not answered yet')
      return { name: `store:${election.name}`, ok, message }
    })
    return { ok: checks.every(({ ok }) => ok), checks }
  }

  #beat(): void {
    this.#judgeApplication()
    for (const election of this.#parts.elections) election.tick()
  }

  #paused(pauseMs: number): void {
    const { log, metrics, elections } = this.#parts
    const monitor = monitors(logMonitor(log), metrics.monitor)
    for (const election of elections) monitor.paused(election.name, pauseMs)
  }

  #watchApplication(): void {
    const { appHealth, appHealthFailures, requirePollsMs } = this.#parts.config.values
    const { clock } = this.#parts
    if (requirePollsMs !== null) {
      this.#polls = new RequiredPolls(requirePollsMs, clock)
      this.#signs.push(this.#polls)
    }
    if (appHealth !== null) {
      this.#signs.push(new HealthCheck(appHealth, appHealthFailures, clock, () => this.#judgeApplication()))
    }
  }

  #judgeApplication(): void {
    const unwell = this.#signs.filter((sign) => !sign.healthy)
    const healthy = unwell.length === 0
    if (healthy !== this.#healthy) {
      this.#healthy = healthy
      const detail = unwell.map(({ complaint }) => complaint).join('; ')
      this.#parts.log.event(healthy ? 'application_well' : 'application_unwell', { detail })
    }
    for (const election of this.#parts.elections) election.setHealthy(healthy)
  }
}

/**
 * Opens the store and makes the elections; nothing runs before `start`.
 *
 * @throws StoreError `misconfigured` where the store URL can never work.
 */
export async function createSidecar(parts: SidecarParts): Promise<RunningSidecar> {
  const { config, clock, log, version } = parts
  const { values, timing } = config
  const store = await openStore(values.store, {
    clock,
    note: (detail) => log.event('store_note', { detail }),
  })
  log.event('sidecar_started', { version, store: store.location })
  const { ttlMs, marginMs } = timing
  const metrics = createMetrics({
    clock,
    elections: values.elections.map((name) => ({ name, ttlMs, marginMs })),
    build: { version, store: store.kind },
  })
  const monitor = monitors(logMonitor(log), metrics.monitor)
  const historyFailed = historyFaults(metrics, (detail) => log.event('store_note', { detail }))
  const session = clock.uuid()
  const { identity, observer, drainMs, generationFloor } = values
  const elections = values.elections.map((election) => {
    const settings = { election, identity, session, timing, observer, drainMs, generationFloor }
    return new Election({ settings, store, clock, monitor, historyFailed })
  })
  const claims = await createClaims(values, elections, clock)
  return new RunningSidecar({ ...parts, store, metrics, elections, claims })
}
