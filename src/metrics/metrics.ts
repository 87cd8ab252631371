/** All metrics of one process, in a registry of their own. */
import { Registry } from 'prom-client'
import type { Clock } from '../clock/clock.ts'
import type { Monitor } from '../election/monitor.ts'
import type { Status } from '../election/status.ts'
import { historyFailures, metricsMonitor } from './counters.ts'
import { type Measured, registerGauges, type SubscriberKind } from './gauges.ts'
import { type Build, registerProcess } from './process.ts'

export interface MetricsOptions {
  readonly clock: Clock
  readonly elections: readonly Measured[]
  readonly build: Build
}

/** An election that can be asked how it stands. */
export interface Observed {
  readonly name: string
  status(): Status
}

export interface Metrics {
  readonly registry: Registry
  /** Feeds the counters and histograms. */
  readonly monitor: Monitor
  /** The history of an election failed once. */
  readonly historyFailed: (election: string) => void
  /** From now on scrapes read these elections. Before, every gauge of theirs is 0. */
  observe(elections: readonly Observed[]): void
  /** From now on scrapes count readers with this. */
  countSubscribers(count: (election: string, kind: SubscriberKind) => number): void
  /** Stops what is measured in the background. */
  close(): void
}

/** Every series exists from here on, with the value 0. */
export function createMetrics({ clock, elections, build }: MetricsOptions): Metrics {
  const registry = new Registry()
  const observed = new Map<string, Observed>()
  let subscribers = (_election: string, _kind: SubscriberKind): number => 0
  const sources = {
    status: (name: string) => observed.get(name)?.status() ?? null,
    subscribers: (name: string, kind: SubscriberKind) => subscribers(name, kind),
  }
  registerGauges({ registry, clock, elections, sources })
  const monitor = metricsMonitor(registry, elections)
  const historyFailed = historyFailures(registry, elections)
  const close = registerProcess(registry, build)
  return {
    registry,
    monitor,
    historyFailed,
    observe: (running) => {
      for (const election of running) observed.set(election.name, election)
    },
    countSubscribers: (count) => {
      subscribers = count
    },
    close,
  }
}
