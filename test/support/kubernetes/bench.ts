/** What tests of the Kubernetes store share: a cluster, a namespace, and stores on it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../src/clock/clock.ts'
import { systemClock } from '../../../src/clock/system-clock.ts'
import type { TenureKey } from '../../../src/election/tenure.ts'
import { kubeconfigSource } from '../../../src/stores/kubernetes/kubeconfig.ts'
import { openPlace } from '../../../src/stores/kubernetes/store.ts'
import {
  type Attempt,
  type Candidate,
  type Granted,
  type Hint,
  type LeaseStore,
  type Refused,
  StoreError,
  type StoreErrorKind,
} from '../../../src/stores/store.ts'
import { type ApiServer, startApiServer } from './api-server.ts'
import { HttpProxy } from './http-proxy.ts'
import { Namespace } from './namespace.ts'

const CONDITION_TIMEOUT_MS = 20_000
const CONDITION_POLL_MS = 10

export interface OpenOptions {
  readonly clock?: Clock
  /** Of a proxy in front of the server. */
  readonly port?: number
  readonly account?: string
  readonly kubeconfig?: string
  readonly namespace?: string
}

/** One cluster with one namespace, for one test file. */
export class KubernetesBench {
  readonly server: ApiServer
  readonly namespace: Namespace
  /** May do all that a sidecar needs. */
  readonly account: string
  /** What the stores said. */
  readonly notes: string[] = []
  readonly #stores: LeaseStore[] = []

  private constructor(server: ApiServer, namespace: Namespace, account: string) {
    this.server = server
    this.namespace = namespace
    this.account = account
  }

  static async start(flags: readonly string[] = []): Promise<KubernetesBench> {
    const server = await startApiServer(flags)
    const namespace = await Namespace.create(server)
    const bench = new KubernetesBench(server, namespace, await namespace.createAccount())
    afterEach(() => bench.closeAll())
    after(() => server.dispose())
    return bench
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#stores.splice(0).map((store) => store.close()))
    this.notes.length = 0
  }

  async open(options: OpenOptions = {}): Promise<LeaseStore> {
    const { clock = systemClock(), account = this.account, port } = options
    const kubeconfig =
      options.kubeconfig ??
      (await this.namespace.kubeconfig(account, { ...(port !== undefined && { port }) }))
    const source = await kubeconfigSource([kubeconfig], null)
    const context = { clock, note: (message: string) => this.notes.push(message) }
    const store = openPlace({ source, namespace: options.namespace ?? this.namespace.name }, context)
    this.#stores.push(store)
    return store
  }

  /** A kubeconfig of somebody who may do everything. */
  adminKubeconfig(): Promise<string> {
    return this.namespace.kubeconfig('admin', { user: { token: this.server.adminToken } })
  }

  /** A proxy in front of the server, for one test. */
  async proxy(): Promise<HttpProxy> {
    const proxy = await HttpProxy.start(this.server)
    after(() => proxy.close())
    return proxy
  }
}

/** The bench of a test file; where its tests are skipped, nothing is started, and nothing of it may be touched. */
export async function startUnless(
  skip: string | false,
  flags: readonly string[] = [],
): Promise<KubernetesBench> {
  return skip === false ? KubernetesBench.start(flags) : (undefined as never)
}

export function newElection(): string {
  return `election-${randomUUID()}`
}

export function newCandidate(identity = 'somebody'): Candidate {
  return { identity, session: randomUUID() }
}

/** An attempt that is given up after its time, as a driver would. */
export function attempt(timeoutMs = 5_000): Attempt {
  return { timeoutMs, signal: AbortSignal.timeout(timeoutMs) }
}

export interface Asking {
  readonly ttlMs?: number
  readonly above?: number
}

/** Acquires until it is granted or refused. */
export async function acquire(
  store: LeaseStore,
  election: string,
  candidate: Candidate,
  { ttlMs = 10_000, above = 0 }: Asking = {},
): Promise<Granted | Refused> {
  const giveUpAt = performance.now() + CONDITION_TIMEOUT_MS
  for (;;) {
    const result = await store.acquire(election, candidate, { ttlMs, above }, attempt())
    if (result.kind !== 'contended') return result
    assert.ok(performance.now() < giveUpAt, 'still contended')
    await sleep(CONDITION_POLL_MS)
  }
}

/** Acquires, and asserts that it was granted. */
export async function win(
  store: LeaseStore,
  election: string,
  candidate: Candidate,
  asking: Asking = {},
): Promise<TenureKey & Granted> {
  const result = await acquire(store, election, candidate, asking)
  assert.equal(result.kind, 'granted', JSON.stringify(result))
  return { ...(result as Granted), election, session: candidate.session }
}

/** Acquires, and asserts that it was refused. */
export async function refused(
  store: LeaseStore,
  election: string,
  candidate: Candidate,
  asking: Asking = {},
): Promise<Refused> {
  const result = await acquire(store, election, candidate, asking)
  assert.equal(result.kind, 'refused', JSON.stringify(result))
  return result as Refused
}

/** Asserts that a request fails with this kind of error, and answers its message. */
export async function failsWith(request: Promise<unknown>, kind: StoreErrorKind): Promise<string> {
  const outcome = await request.then(
    (value) => assert.fail(`did not fail: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  assert.ok(outcome instanceof StoreError, String(outcome))
  assert.equal(outcome.kind, kind, outcome.message)
  return outcome.message
}

/** Waits until something is so, and fails when it does not become so. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const giveUpAt = performance.now() + CONDITION_TIMEOUT_MS
  while (!(await holds())) {
    assert.ok(performance.now() < giveUpAt, `not within ${CONDITION_TIMEOUT_MS} ms: ${what}`)
    await sleep(CONDITION_POLL_MS)
  }
}

/** How long `work` takes. */
export async function timed<T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number }> {
  const from = performance.now()
  const result = await work()
  return { result, tookMs: performance.now() - from }
}

/** Collects the hints of a watch; ends with the store. */
export function hintsOf(store: LeaseStore, election: string): Hint[] {
  const hints: Hint[] = []
  assert.ok(store.watch !== undefined)
  store.watch(election, (hint) => hints.push(hint))
  return hints
}
