/** The Leases of one namespace, over HTTP: each call is one request, repeated once where the token was replaced. */
import { type Clock, type Instant, later, toWaitMs } from '../../clock/clock.ts'
import { VERSION } from '../../version.ts'
import { Deadline, pause, untilAborted } from '../deadline.ts'
import { type Attempt, StoreError } from '../store.ts'
import { type Access, AccessReader, type AccessSource } from './access.ts'
import { type About, isAnonymous, isNoLease, isTlsFault, refusal, translate, type Verb } from './errors.ts'
import { type LeaseRecord, readLease } from './lease.ts'
import { type Call, type Reply, type Stream, Transport } from './transport.ts'

const UNAUTHORIZED = 401
const CONFLICT = 409
/** What a wait that the server asked for may take of an attempt: the rest is for the request. */
const RETRY_AFTER_SHARE = 0.5

/** How a conditional write ended. */
export type Written =
  | { readonly kind: 'written'; readonly record: LeaseRecord }
  | { readonly kind: 'conflict' }

export class LeaseApi {
  readonly namespace: string
  readonly #clock: Clock
  readonly #access: AccessReader
  readonly #transport = new Transport()
  readonly #requests = new Set<Deadline>()
  #notBefore: Instant | null = null
  #closed = false

  constructor(source: AccessSource, namespace: string, clock: Clock) {
    this.namespace = namespace
    this.#clock = clock
    this.#access = new AccessReader(source, clock)
  }

  /**
   * Runs the requests of one attempt within its bounds.
   *
   * @throws StoreError
   */
  async use<T>(attempt: Attempt, work: (bounds: Deadline) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError('unavailable', 'Kubernetes: the store is closed', { cause: null })
    const bounds = new Deadline(this.#clock, attempt, 'Kubernetes')
    this.#requests.add(bounds)
    try {
      bounds.signal.throwIfAborted()
      return await work(bounds)
    } catch (error) {
      const translated = translate(error)
      if (translated.kind === 'unavailable') this.#transport.dropFree()
      throw translated
    } finally {
      bounds.close()
      this.#requests.delete(bounds)
    }
  }

  /** The Lease; null when there is none. */
  async read(name: string, bounds: Deadline): Promise<LeaseRecord | null> {
    const reply = await this.#send('GET', this.#path(name), null, name, bounds)
    if (reply.status === 200) return parseRecord(reply)
    if (isNoLease(reply)) return null
    throw refusal(reply, this.#about('get', name))
  }

  async create(name: string, body: unknown, bounds: Deadline): Promise<Written> {
    const reply = await this.#send('POST', this.#path(null), body, name, bounds)
    if (reply.status === CONFLICT) return { kind: 'conflict' }
    if (reply.status === 201) return { kind: 'written', record: parseRecord(reply) }
    throw refusal(reply, this.#about('create', name))
  }

  /** Writes the whole object, which carries `uid` and `resourceVersion`. */
  async replace(name: string, body: unknown, bounds: Deadline): Promise<Written> {
    const reply = await this.#send('PUT', this.#path(name), body, name, bounds)
    // Gone between the question and the write, or the namespace with it: the next question tells.
    if (reply.status === CONFLICT || isNoLease(reply)) return { kind: 'conflict' }
    if (reply.status === 200) return { kind: 'written', record: parseRecord(reply) }
    throw refusal(reply, this.#about('update', name))
  }

  /**
   * Begins to watch one Lease: what stands now comes first, then every change. `signal` ends it, and must be
   * aborted in the end.
   *
   * @throws StoreError, and the signal's reason.
   */
  async watch(name: string, timeoutSeconds: number, signal: AbortSignal): Promise<Stream> {
    const query = new URLSearchParams({
      watch: '1',
      fieldSelector: `metadata.name=${name}`,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(timeoutSeconds),
    })
    const call = {
      method: 'GET',
      path: `${this.#path(null)}?${query}`,
      body: null,
      userAgent: agentOf(name),
    } as const
    // As with requests: a token that was replaced is read again, once.
    const first = await this.#openOnce(call, signal)
    const stream = first.status === UNAUTHORIZED ? await this.#openOnce(call, signal) : first
    if (stream.status === 200) return stream
    throw refusal({ ...stream, text: '' }, this.#about('watch', name))
  }

  /** How long the server has asked us to stay away. */
  get holdMs(): number {
    if (this.#notBefore === null) return 0
    return Math.max(0, toWaitMs(this.#notBefore, this.#clock.now()))
  }

  /** Gives up the connections that wait for use. */
  dropFree(): void {
    this.#transport.dropFree()
  }

  /** Ends everything that is under way. */
  close(): void {
    this.#closed = true
    for (const bounds of this.#requests) bounds.abort()
    this.#transport.close()
  }

  async #send(
    method: Call['method'],
    path: string,
    body: unknown,
    name: string,
    bounds: Deadline,
  ): Promise<Reply> {
    await this.#hold(bounds)
    const first = await this.#sendOnce(method, path, body, name, bounds)
    if (first.status !== UNAUTHORIZED) return first
    // The token was replaced, and the old one revoked: what the file holds now may serve.
    return this.#sendOnce(method, path, body, name, bounds)
  }

  async #sendOnce(
    method: Call['method'],
    path: string,
    body: unknown,
    name: string,
    bounds: Deadline,
  ): Promise<Reply> {
    const access = await this.#accessNow(bounds)
    // The server gives up when we do: a request that waits in its queue does not take effect long afterwards.
    const timeout = `timeout=${Math.max(1, Math.ceil(bounds.remainingMs))}ms`
    const call = { method, path: `${path}?${timeout}`, body, userAgent: agentOf(name) }
    try {
      const reply = await this.#transport.send(access, call, bounds.signal)
      if (reply.status === UNAUTHORIZED || isAnonymous(reply)) this.#access.reject(access)
      this.#heed(reply.retryAfterMs)
      return reply
    } catch (error) {
      // The certificate authority may have been replaced.
      if (isTlsFault(error)) this.#access.reject(access)
      throw error
    }
  }

  /** The body of what is no success is gone already. */
  async #openOnce(call: Call, signal: AbortSignal): Promise<Stream> {
    const access = await untilAborted(this.#access.get(), signal)
    const stream = await this.#transport.open(access, call, signal)
    if (stream.status !== 200) stream.body.destroy()
    if (stream.status === UNAUTHORIZED) this.#access.reject(access)
    this.#heed(stream.retryAfterMs)
    return stream
  }

  async #accessNow(bounds: Deadline): Promise<Access> {
    try {
      return await untilAborted(this.#access.get(), bounds.signal)
    } catch (error) {
      if (bounds.signal.aborted || error instanceof StoreError) throw error
      const { message } = error as Error
      throw new StoreError('denied', `Kubernetes: no credentials: ${message}`, { cause: error })
    }
  }

  /** The server is overloaded, and says when to come back. */
  #heed(retryAfterMs: number | null): void {
    if (retryAfterMs !== null) this.#notBefore = later(this.#clock.now(), retryAfterMs)
  }

  /** Waits as the server asked, as far as the attempt allows it. */
  async #hold(bounds: Deadline): Promise<void> {
    const waitMs = this.holdMs
    if (waitMs === 0) return
    const mostMs = bounds.remainingMs - bounds.timeoutMs * (1 - RETRY_AFTER_SHARE)
    if (mostMs > 0) await pause(this.#clock, Math.min(waitMs, mostMs), bounds.signal)
    bounds.signal.throwIfAborted()
  }

  #path(name: string | null): string {
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(this.namespace)}/leases`
    return name === null ? leases : `${leases}/${name}`
  }

  #about(verb: Verb, name: string): About {
    return { verb, namespace: this.namespace, name }
  }
}

/** The part before the slash becomes the manager of the fields that are written. */
function agentOf(name: string): string {
  return `tenure/${VERSION} (${name})`
}

/** A success that says nothing leaves the outcome unknown. */
function parseRecord({ text }: Reply): LeaseRecord {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new StoreError('unavailable', 'Kubernetes: the answer is no JSON', { cause })
  }
  const record = readLease(value)
  if (record !== null) return record
  throw new StoreError('unavailable', 'Kubernetes: the answer is no Lease', { cause: null })
}
