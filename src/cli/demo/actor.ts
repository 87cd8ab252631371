import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../clock/clock.ts'
import type { Attempt, Contended, Granted, LeaseStore, Refused } from '../../election/lease-store.ts'
import { actForMs, actUntil, isOver, type Tenure } from '../../election/tenure.ts'
import { deriveTiming } from '../../election/timing.ts'
import type { Fence, Fenced } from '../../fencing/fence.ts'
import { guardSqlite } from '../../fencing/sqlite/strict.ts'
import { openStore } from '../../stores/open.ts'
import type { Actor, Answer, Decision, Name } from './cast.ts'
import { HandClock } from './hand-clock.ts'
import { clockPath, leasePath, openData, updateSql } from './place.ts'

export const ELECTION = 'fleet-manager'
/** As a sidecar has them when nothing is set. */
export const TIMING = deriveTiming({ ttlMs: 15_000 })

/** An application beside its candidate, in one process: the real store, the real arithmetic, a clock moved by hand. */
export class StageActor implements Actor {
  readonly #name: Name
  readonly #session: string
  readonly #clock: Clock
  readonly #store: LeaseStore
  readonly #data: DatabaseSync
  readonly #leasePath: string
  #above = 0
  #tenure: Tenure | null = null
  /** What the application believes: the tenure of the last answer "leading". It does not know how old it is. */
  #belief: Fence | null = null

  private constructor(name: Name, folder: string, clock: Clock, store: LeaseStore) {
    this.#name = name
    this.#session = clock.uuid()
    this.#clock = clock
    this.#store = store
    this.#data = openData(folder)
    this.#leasePath = leasePath(folder)
  }

  static async enter(name: Name, folder: string, real: Clock): Promise<StageActor> {
    const clock = new HandClock(clockPath(folder), real)
    const url = `sqlite:${leasePath(folder)}`
    const store = await openStore(
      { url, password: null, passwordFile: null },
      // What a temporary folder is on is not part of the story.
      { clock, note: () => undefined },
    )
    return new StageActor(name, folder, clock, store)
  }

  async acquire(): Promise<Granted | Refused | Contended> {
    const sentAt = this.#clock.now()
    const result = await this.#store.acquire(
      ELECTION,
      { identity: this.#name, session: this.#session },
      { ttlMs: TIMING.ttlMs, above: this.#above },
      attempt(),
    )
    if (result.kind === 'contended') return result
    this.#above = Math.max(this.#above, result.generation)
    if (result.kind === 'granted') {
      this.#tenure = {
        election: ELECTION,
        generation: result.generation,
        session: this.#session,
        actUntil: actUntil(sentAt, TIMING.ttlMs, TIMING.marginMs),
      }
    }
    return result
  }

  async check(): Promise<Answer> {
    const now = this.#clock.now()
    const tenure = this.#tenure
    if (tenure === null || isOver(tenure, now)) {
      this.#belief = null
      return { leading: false, generation: null, validForMs: 0 }
    }
    this.#belief = tenure
    const validForMs = Math.min(actForMs(tenure, now), TIMING.promiseMs)
    return { leading: true, generation: tenure.generation, validForMs }
  }

  async write(decision: Decision): Promise<Fenced<number>> {
    const fence = this.#belief
    if (fence === null) throw new Error(`${this.#name} was told that it does not lead, and may not write`)
    const write = (): number => Number(this.#data.prepare(updateSql(this.#name, decision)).run().changes)
    if (decision.fenced) return guardSqlite(this.#data, this.#leasePath, fence, write)
    return { ok: true, value: write() }
  }
}

function attempt(): Attempt {
  return { timeoutMs: TIMING.attemptTimeoutMs, signal: new AbortController().signal }
}
