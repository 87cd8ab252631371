/** What the rules of the history play with: stores on one place, and candidates that write when the test says so. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { HistoryEntry, HistoryStore } from '../../src/election/history-store.ts'
import type { TenureRecord } from '../../src/election/status.ts'
import type { TenureKey } from '../../src/election/tenure.ts'
import type { Begun, Granted, LeaseStore } from '../../src/stores/store.ts'
import { attempt, Contender, candidate, uncontended } from './harness.ts'

/** Between two clocks and two roundings. */
const GRAIN_MS = 25
const WRITES_MOST = 100
export const DAY_MS = 24 * 60 * 60 * 1_000

export interface Place {
  open(): Promise<LeaseStore>
  /** Lets every lease grow older. */
  forwardMs(ms: number): Promise<void>
  /** Removes the lease, as nobody should. */
  deleteLease(election: string): Promise<void>
  /** Fills the history by hand: so many rows, the newest of which ended so many days ago. */
  fill(election: string, rows: number, days: number): Promise<void>
  count(election: string): Promise<number>
  close(): Promise<void>
}

export type Won = TenureKey & Granted & { readonly begun: Begun }

export class Scene {
  readonly election: string
  readonly #place: Place
  readonly #stores: LeaseStore[] = []

  constructor(place: Place, election = `history-${randomUUID()}`) {
    this.#place = place
    this.election = election
  }

  async player(identity: string): Promise<Player> {
    const store = await this.#place.open()
    this.#stores.push(store)
    return new Player(store, this.election, identity)
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
  }
}

/** A candidate that also writes its tenures down, when the test says so. */
export class Player {
  readonly identity: string
  readonly contender: Contender
  readonly history: HistoryStore
  readonly writer = randomUUID().slice(0, 16)

  constructor(store: LeaseStore, election: string, identity: string) {
    const { history } = store
    assert.ok(history !== undefined, 'this store keeps a history')
    this.history = history
    this.identity = identity
    this.contender = new Contender(store, election, candidate(identity))
  }

  async win(above = 0): Promise<Won> {
    const won = await this.contender.win(above)
    assert.ok(won.begun !== undefined, 'a grant tells of the beginning')
    return { ...won, begun: won.begun }
  }

  entry(won: Won, more: Partial<HistoryEntry> = {}): HistoryEntry {
    return {
      generation: won.generation,
      holder: this.identity,
      writer: this.writer,
      fromMs: won.begun.fromMs,
      leaderlessMs: won.leaderlessMs,
      reason: null,
      untilMs: null,
      before: won.begun.before,
      ...more,
    }
  }

  /** Gives the lease back; answers when that was, on the store's clock. */
  async release(won: Won): Promise<number> {
    const outcome = await uncontended(() => this.contender.store.release(won, attempt()))
    assert.ok(outcome.kind === 'released' && outcome.atMs !== undefined, JSON.stringify(outcome))
    return outcome.atMs
  }

  async write(entry: HistoryEntry): Promise<void> {
    for (let i = 0; i < WRITES_MOST; i++) {
      if ((await this.history.write(this.contender.election, entry, attempt())) === 'written') return
    }
    assert.fail('contended for ever')
  }

  read(most = 50): Promise<readonly TenureRecord[]> {
    return this.history.read(this.contender.election, most, attempt())
  }
}

export function assertNear(actualMs: number | null | undefined, expectedMs: number, what: string): void {
  assert.ok(typeof actualMs === 'number', `${what} is unknown`)
  assert.ok(Math.abs(actualMs - expectedMs) <= GRAIN_MS, `${what}: ${actualMs} instead of ${expectedMs}`)
}

/** The end of a tenure and the time without a leader add up to the beginning of the next. */
export function assertAddsUp(tenures: readonly TenureRecord[]): void {
  for (const [i, next] of tenures.entries()) {
    const last = tenures[i - 1]
    if (last === undefined || last.untilMs === null || next.leaderlessMs === null) continue
    assertNear(last.untilMs + next.leaderlessMs, next.fromMs, `from of ${next.generation}`)
  }
}

export const brief = ({ holder, generation, reason }: TenureRecord) => [generation, holder, reason]
