import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TenureKey } from '../../src/election/tenure.ts'
import type {
  Attempt,
  Candidate,
  Contended,
  Granted,
  LeaseStore,
  LeaseView,
  Refused,
} from '../../src/stores/store.ts'

/** One place where leases are kept, as the conformance suite needs it. Made once for a whole suite. */
export interface StoreHarness {
  /** A fresh candidate process's view of the place. Several may be open at once, each with connections of its own. */
  open(): Promise<LeaseStore>
  readonly leastTtlMs: number
  /** Generations stay below this bound, where the place keeps smaller ones than the contract allows. */
  readonly generationLimit?: number
  readonly supportsWatch: boolean
  /** Lets `ms` go by on the store's clock as every lease sees it: moves the clock, or moves the rows back. */
  forwardMs(ms: number): Promise<void>
  /** The whole stored record, in a form where equal text means equal content; null when there is none. */
  readRow(election: string): Promise<string | null>
  /** Closes what the harness opened, stores excepted. */
  close(): Promise<void>
}

/** A rule of the contract: its name is a sentence, its check fails when a store breaks it. */
export type Rule = readonly [name: string, check: (bench: Bench) => Promise<void>]

/** Long beside whatever a slow machine adds in real time: nothing expires unless `forwardMs` says so. */
export const TTL_MS = 60_000
/** What real time may add to a span between two calls, at the most. */
export const SLACK_MS = 10_000
/** What rounding and a clock in steps may take from a span. */
export const GRAIN_MS = 20
const ATTEMPT_TIMEOUT_MS = 5_000
const CONTENDED_MOST_MS = 20_000
const CONTENDED_PAUSE_MS = 2

/** What one test needs: fresh stores on the place, an election of its own, and short forms of the calls. */
export class Bench {
  readonly harness: StoreHarness
  readonly election = `conformance-${randomUUID()}`
  readonly #stores: LeaseStore[] = []

  constructor(harness: StoreHarness) {
    this.harness = harness
  }

  async open(): Promise<LeaseStore> {
    const store = await this.harness.open()
    this.#stores.push(store)
    return store
  }

  async contender(identity = 'somebody', election = this.election): Promise<Contender> {
    return new Contender(await this.open(), election, candidate(identity))
  }

  row(election = this.election): Promise<string | null> {
    return this.harness.readRow(election)
  }

  /** Runs `act` and asserts that it left the stored record exactly as it was. */
  async unchanged<T>(act: () => Promise<T>, election = this.election): Promise<T> {
    const before = await this.row(election)
    const result = await act()
    assert.equal(await this.row(election), before, 'the stored record must not change')
    return result
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
  }
}

/** A candidate with a store of its own. Contention is retried, as a driver would. */
export class Contender {
  readonly store: LeaseStore
  readonly election: string
  readonly candidate: Candidate

  constructor(store: LeaseStore, election: string, who: Candidate) {
    this.store = store
    this.election = election
    this.candidate = who
  }

  acquire(above = 0, ttlMs = TTL_MS): Promise<Granted | Refused> {
    return uncontended(() => this.store.acquire(this.election, this.candidate, { ttlMs, above }, attempt()))
  }

  /** Acquires, and asserts that it was granted. Answers the tenure's proof, and what the grant told. */
  async win(above = 0, ttlMs = TTL_MS): Promise<TenureKey & Granted> {
    const result = await this.acquire(above, ttlMs)
    assert.equal(result.kind, 'granted', `not granted: ${JSON.stringify(result)}`)
    return { ...(result as Granted), election: this.election, session: this.candidate.session }
  }

  /** Acquires, and asserts that it was refused. */
  async refused(above = 0): Promise<Refused> {
    const result = await this.acquire(above)
    assert.equal(result.kind, 'refused', `not refused: ${JSON.stringify(result)}`)
    return result as Refused
  }

  async renew(tenure: TenureKey, ttlMs = TTL_MS): Promise<'granted' | 'lost'> {
    const result = await uncontended(() => this.store.renew(tenure, ttlMs, attempt()))
    if (result.kind === 'granted') assert.equal(result.generation, tenure.generation, 'a renewal keeps it')
    return result.kind
  }

  async release(tenure: TenureKey): Promise<'released' | 'lost'> {
    return (await uncontended(() => this.store.release(tenure, attempt()))).kind
  }

  current(): Promise<LeaseView | null> {
    return this.store.current(this.election, attempt())
  }
}

export function candidate(identity = 'somebody'): Candidate {
  return { identity, session: randomUUID() }
}

/** The bounds of a request that nobody gives up. */
export function attempt(): Attempt {
  return { timeoutMs: ATTEMPT_TIMEOUT_MS, signal: new AbortController().signal }
}

/** The bounds of a request that was given up before it was made. */
export function abortedAttempt(): Attempt {
  return { timeoutMs: ATTEMPT_TIMEOUT_MS, signal: AbortSignal.abort() }
}

/** Repeats a request for as long as the store says that somebody else was in the way. */
export async function uncontended<T extends { readonly kind: string }>(
  ask: () => Promise<T | Contended>,
): Promise<Exclude<T, Contended>> {
  const giveUpAt = performance.now() + CONTENDED_MOST_MS
  for (;;) {
    const result = await ask()
    if (result.kind !== 'contended') return result as Exclude<T, Contended>
    assert.ok(performance.now() < giveUpAt, `still contended after ${CONTENDED_MOST_MS} ms`)
    await sleep(CONTENDED_PAUSE_MS)
  }
}

/** Asserts that a span is what it should be, within what real time and clock steps may do to it. */
export function assertAbout(actualMs: number | null, expectedMs: number, what: string): void {
  assert.ok(actualMs !== null, `${what}: ${expectedMs} ms expected, but unknown`)
  const fits = actualMs >= expectedMs - GRAIN_MS && actualMs <= expectedMs + SLACK_MS
  assert.ok(fits, `${what}: ${actualMs} ms is not about ${expectedMs} ms`)
}

/** Asserts that `actualMs` is what is left of a span that had `expectedMs` left, give or take real time. */
export function assertLeft(actualMs: number | null, expectedMs: number, what: string): void {
  assert.ok(actualMs !== null, `${what}: ${expectedMs} ms expected, but unknown`)
  const fits = actualMs <= expectedMs + GRAIN_MS && actualMs >= expectedMs - SLACK_MS
  assert.ok(fits, `${what}: ${actualMs} ms is not what is left of ${expectedMs} ms`)
}
