/** An election on a hand-moved clock whose store also keeps a history, both answered by hand. */
import { Election } from '../../src/election/election.ts'
import type { HistoryEntry, HistoryStore } from '../../src/election/history-store.ts'
import type { Monitor } from '../../src/election/monitor.ts'
import type { TenureRecord } from '../../src/election/status.ts'
import { deriveTiming } from '../../src/election/timing.ts'
import type { Attempt, Begun, Granted, Predecessor, StoreError } from '../../src/stores/store.ts'
import { ManualClock } from './clock.ts'
import { ScriptedStore, settled } from './scripted-store.ts'

export const TTL_MS = 10_000
export const STARTED_MS = Date.UTC(2026, 5, 1)

interface Written {
  readonly entry: HistoryEntry
  readonly attempt: Attempt
  answer(outcome: 'written' | 'contended'): Promise<void>
  fail(error: unknown): Promise<void>
}

interface Read {
  readonly attempt: Attempt
  answer(tenures: readonly TenureRecord[]): Promise<void>
  fail(error: unknown): Promise<void>
}

export class ScriptedHistory implements HistoryStore {
  /** Told when a write is asked for. */
  asked: (entry: HistoryEntry) => void = () => {}
  readonly writes: Written[] = []
  readonly reads: Read[] = []

  write(_: string, entry: HistoryEntry, attempt: Attempt): Promise<'written' | 'contended'> {
    const { promise, resolve, reject } = Promise.withResolvers<'written' | 'contended'>()
    this.asked(entry)
    this.writes.push({ entry, attempt, ...answers(resolve, reject) })
    return promise
  }

  read(_: string, __: number, attempt: Attempt): Promise<readonly TenureRecord[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly TenureRecord[]>()
    this.reads.push({ attempt, ...answers(resolve, reject) })
    return promise
  }

  get last(): Written {
    const last = this.writes.at(-1)
    if (last === undefined) throw new Error('nothing was written')
    return last
  }

  /** `generation reason` of each write. */
  get told(): readonly string[] {
    return this.writes.map(({ entry }) => `${entry.generation} ${entry.reason}`)
  }
}

function answers<T>(resolve: (value: T) => void, reject: (error: unknown) => void) {
  return {
    answer: (value: T) => {
      resolve(value)
      return settled()
    },
    fail: (error: unknown) => {
      reject(error)
      return settled()
    },
  }
}

class KeepingStore extends ScriptedStore {
  readonly history = new ScriptedHistory()
}

export interface HistoryBench {
  readonly clock: ManualClock
  readonly store: ScriptedStore
  readonly history: ScriptedHistory
  readonly election: Election
  readonly failures: StoreError[]
  readonly transitions: string[]
}

export function historyBench(): HistoryBench {
  const clock = new ManualClock()
  const store = new KeepingStore()
  const failures: StoreError[] = []
  const transitions: string[] = []
  const monitor: Monitor = {
    transition: ({ to, reason }) => transitions.push(`${to} ${reason}`),
    holder: () => {},
    request: () => {},
    damped: () => {},
    paused: () => {},
    fault: (_, error) => {
      throw error
    },
  }
  const settings = {
    election: 'fleet-manager',
    identity: 'one',
    session: '11111111-1111-4111-8111-111111111111',
    timing: deriveTiming({ ttlMs: TTL_MS }),
    observer: false,
    drainMs: 0,
    generationFloor: 0,
  }
  const historyFailed = (_: string, error: StoreError) => failures.push(error)
  const election = new Election({ settings, store, clock, monitor, historyFailed })
  return { clock, store, history: store.history, election, failures, transitions }
}

export function begun(generation: number, before: Predecessor | null = null): Granted & { begun: Begun } {
  return { kind: 'granted', generation, leaderlessMs: 40, begun: { fromMs: STARTED_MS, before } }
}

/** A bench whose election leads under generation 1, which is not written down yet. */
export async function leadingHistoryBench(): Promise<HistoryBench> {
  const bench = historyBench()
  bench.election.start()
  await bench.store.last.answer(begun(1))
  return bench
}
