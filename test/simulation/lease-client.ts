/** A candidate's way to the lease server: over a network that delays, drops, repeats, and loses replies. */

import type { TenureKey } from '../../src/election/tenure.ts'
import { Observation } from '../../src/stores/observation.ts'
import {
  type AcquireOptions,
  type Attempt,
  type Candidate,
  type Hint,
  type LeaseStore,
  StoreError,
  type Watch,
} from '../../src/stores/store.ts'
import type { Bring, Host } from './host.ts'
import type { LeaseServer } from './lease-server.ts'
import type { World } from './world.ts'

/** What the network between one host and the server is like just now. */
export interface Network {
  /** No packet passes, and nothing says so. */
  cut: boolean
  /** Part of the requests, and of the replies, that vanish. */
  lossy: number
  /** Part of the requests that arrive twice. */
  doubled: number
  /** Longest extra delay of a request or a reply, in ms. */
  slowMs: number
  /** Longest extra delay of a reply alone, in ms. */
  slowBackMs: number
  /** Longest wait behind a lock at the server before a request takes effect, in ms. */
  lockedMs: number
}

export function calm(): Network {
  return { cut: false, lossy: 0, doubled: 0, slowMs: 0, slowBackMs: 0, lockedMs: 0 }
}

/** One way of a packet when all is well. */
const WAY_MS = [0.2, 3] as const

export class LeaseClient implements LeaseStore {
  readonly kind = 'simulated'
  readonly location = 'simulated'
  readonly leastTtlMs = 1
  readonly #world: World
  readonly #host: Host
  readonly #bring: Bring
  readonly #server: LeaseServer
  readonly #network: Network
  readonly #observation: Observation
  #observedTtlMs = 0
  #seen = 0

  constructor(world: World, host: Host, server: LeaseServer, network: Network) {
    this.#world = world
    this.#host = host
    this.#bring = host.process()
    this.#server = server
    this.#network = network
    this.#observation = new Observation(host.clock())
  }

  async acquire(_election: string, who: Candidate, options: AcquireOptions, attempt: Attempt) {
    const observed = this.#observation.unchangedMs >= Math.max(this.#observedTtlMs, options.ttlMs)
    const mark = observed ? (this.#observation.mark ?? '') : ''
    const wanted = { ...options, observed: mark, seen: this.#seen }
    const outcome = await this.#request(`acquire ${who.identity} above ${options.above}`, attempt, true, () =>
      this.#server.acquire(who, wanted),
    )
    if (outcome.kind === 'contended') return outcome
    this.#seen = Math.max(this.#seen, outcome.generation)
    if (outcome.kind === 'granted') return outcome
    const { kind, holder, session, generation } = outcome
    const unchangedMs = this.#observation.see(outcome.mark)
    this.#observedTtlMs = outcome.ttlMs
    const restMs = Math.max(0, Math.max(outcome.ttlMs, options.ttlMs) - unchangedMs)
    const remainingMs = outcome.ahead ? restMs : outcome.remainingMs
    return { kind, holder, session, generation, remainingMs }
  }

  renew(tenure: TenureKey, ttlMs: number, attempt: Attempt) {
    return this.#request(`renew ${tenure.generation}`, attempt, true, () => this.#server.renew(tenure, ttlMs))
  }

  release(tenure: TenureKey, attempt: Attempt) {
    return this.#request(`release ${tenure.generation}`, attempt, false, () => this.#server.release(tenure))
  }

  async current(_election: string, attempt: Attempt) {
    const view = await this.#request('current', attempt, false, () => ({ view: this.#server.current() }))
    return 'view' in view ? view.view : null
  }

  watch(_election: string, wake: (hint: Hint) => void): Watch {
    const woken = (): void => {
      if (!this.#network.cut) this.#bring(this.#wayMs(), () => wake('changed'))
    }
    this.#server.wakers.add(woken)
    return { close: () => this.#server.wakers.delete(woken) }
  }

  async close(): Promise<void> {}

  #wayMs(): number {
    const { random } = this.#world
    return random.between(...WAY_MS) + random.between(0, this.#network.slowMs)
  }

  /** Sends, and settles when a reply comes: perhaps never, as the caller knows how long it waits. */
  #request<T>(
    what: string,
    attempt: Attempt,
    bounded: boolean,
    serve: () => T,
  ): Promise<T | { kind: 'contended' }> {
    const { promise, resolve, reject } = Promise.withResolvers<T | { kind: 'contended' }>()
    const { random } = this.#world
    const times = random.chance(this.#network.doubled) ? 2 : 1
    for (let time = 0; time < times; time++) {
      if (this.#network.cut || random.chance(this.#network.lossy)) continue
      this.#world.in(this.#wayMs(), () => this.#arrive(what, attempt, bounded, serve, resolve, reject))
    }
    return promise
  }

  #arrive<T>(
    what: string,
    attempt: Attempt,
    bounded: boolean,
    serve: () => T,
    resolve: (value: T | { kind: 'contended' }) => void,
    reject: (error: StoreError) => void,
  ): void {
    const { random } = this.#world
    const refusal = this.#refusal()
    if (refusal !== null) {
      this.#reply(() => reject(refusal))
      return
    }
    const lockMs = random.between(0, this.#network.lockedMs)
    this.#world.in(lockMs, () => {
      if (!this.#server.up) return
      // A statement that was stuck for longer than its attempt commits nothing.
      const outcome = bounded && lockMs > attempt.timeoutMs ? ({ kind: 'contended' } as const) : serve()
      this.#world.tell(`server: ${this.#host.name} ${what} → ${JSON.stringify(outcome)}`)
      this.#reply(() => resolve(outcome))
    })
  }

  #refusal(): StoreError | null {
    if (!this.#server.up) return fault('unavailable', 'connection refused')
    return this.#server.readOnly ? fault('denied', 'read-only') : null
  }

  #reply(deliver: () => void): void {
    if (this.#network.cut || this.#world.random.chance(this.#network.lossy)) return
    this.#bring(this.#wayMs() + this.#world.random.between(0, this.#network.slowBackMs), deliver)
  }
}

function fault(kind: 'unavailable' | 'denied', message: string): StoreError {
  return new StoreError(kind, message, { cause: null })
}
