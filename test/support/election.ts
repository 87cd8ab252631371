import { Election } from '../../src/election/election.ts'
import type { Monitor, RequestReport } from '../../src/election/monitor.ts'
import { deriveTiming, type TimingSettings } from '../../src/election/timing.ts'
import { ManualClock } from './clock.ts'
import { granted, ScriptedStore } from './scripted-store.ts'

/** One election on a hand-moved clock and a hand-answered store, with what its monitor was told. */
export interface Bench {
  readonly clock: ManualClock
  readonly store: ScriptedStore
  readonly election: Election
  /** `to reason generation`, in order. */
  readonly transitions: string[]
  readonly reports: RequestReport[]
  readonly faults: unknown[]
  readonly dampedMs: number[]
}

export interface BenchSettings extends Partial<TimingSettings> {
  readonly drainMs?: number
  readonly observer?: boolean
  readonly generationFloor?: number
}

/** ttl 10 s, margin 2 s, renewal after 5 s, attempt 1.25 s, back-off 0.25 s, promise 1 s, hold-off 5 s. */
export function bench(set: BenchSettings = {}): Bench {
  const { drainMs = 0, observer = false, generationFloor = 0, ...timing } = set
  const clock = new ManualClock()
  const store = new ScriptedStore()
  const transitions: string[] = []
  const reports: RequestReport[] = []
  const faults: unknown[] = []
  const dampedMs: number[] = []
  const monitor: Monitor = {
    transition: ({ to, reason, generation }) => transitions.push(`${to} ${reason} ${generation}`),
    holder: () => {},
    request: (report) => reports.push(report),
    damped: (_, delayMs) => dampedMs.push(delayMs),
    paused: () => {},
    fault: (_, error) => faults.push(error),
  }
  const settings = {
    election: 'fleet-manager',
    identity: 'one',
    session: '11111111-1111-4111-8111-111111111111',
    timing: deriveTiming({ ttlMs: 10_000, ...timing }),
    observer,
    drainMs,
    generationFloor,
  }
  const election = new Election({ settings, store, clock, monitor })
  return { clock, store, election, transitions, reports, faults, dampedMs }
}

/** A bench whose election leads under `generation`, granted at once. */
export async function leadingBench(set: BenchSettings = {}, generation = 1): Promise<Bench> {
  const made = bench(set)
  made.election.start()
  await made.store.last.answer(granted(generation))
  return made
}
