/**
 * Wake-ups: one connection that listens for releases, for all elections watched. Hints only: while it is away
 * nothing is lost but time, and when it is back everybody is woken once.
 */
import { type Clock, longestElapsedMs } from '../../clock/clock.ts'
import { Deadline } from '../deadline.ts'
import type { Hint, StoreContext, Watch } from '../store.ts'
import type { Connector } from './connect.ts'
import { CHANNEL, notificationKey, readNotification } from './notifications.ts'
import type { Session } from './session.ts'

const REQUEST_TIMEOUT_MS = 5_000
/** A connection that died without a word is found by asking now and then. */
const PROBE_EVERY_MS = 30_000
const BACKOFF_LEAST_MS = 200
const BACKOFF_MOST_MS = 10_000

type Wake = (hint: Hint) => void

export class Listener {
  readonly #connector: Connector
  readonly #clock: Clock
  readonly #note: (message: string) => void
  readonly #wakes = new Map<string, Set<Wake>>()
  readonly #stop = new AbortController()
  #started = false
  #wasListening = false
  #session: Session | null = null

  constructor(connector: Connector, context: StoreContext) {
    this.#connector = connector
    this.#clock = context.clock
    this.#note = (message) => context.note(message)
  }

  watch(election: string, wake: Wake): Watch {
    const key = notificationKey(election)
    // Of its own, so that the same function given twice is two watches.
    const own: Wake = (hint) => wake(hint)
    const wakes = this.#wakes.get(key) ?? new Set()
    this.#wakes.set(key, wakes.add(own))
    if (!this.#started) {
      this.#started = true
      void this.#run()
    }
    return {
      close: () => {
        wakes.delete(own)
        if (wakes.size === 0 && this.#wakes.get(key) === wakes) this.#wakes.delete(key)
      },
    }
  }

  close(): void {
    this.#wakes.clear()
    this.#stop.abort()
    this.#session?.destroy()
  }

  /** Listens for as long as the store is open, or until a pooler is found. Never rejects. */
  async #run(): Promise<void> {
    let failures = 0
    while (!this.#stop.signal.aborted) {
      const since = this.#clock.now()
      const outcome = await this.#listen().catch((): 'failed' => 'failed')
      if (outcome === 'pooled') {
        this.#note('PostgreSQL is reached through a pooler, which passes no notifications: polling instead')
        return
      }
      // A server that ends idle sessions would else be connected to, and everybody woken, over and over.
      const lasted = longestElapsedMs(since, this.#clock.now()) > BACKOFF_MOST_MS
      failures = outcome === 'ended' && lasted ? 0 : failures + 1
      await this.#pause(Math.min(BACKOFF_MOST_MS, BACKOFF_LEAST_MS * 2 ** failures))
    }
  }

  /** One connection, from connecting to its end. The requests for leases report what is wrong with the server. */
  async #listen(): Promise<'pooled' | 'ended'> {
    const session = await this.#open()
    if (session === null) return 'pooled'
    try {
      if (this.#wasListening) this.#wakeAll()
      this.#wasListening = true
      await this.#untilEnded(session)
      return 'ended'
    } finally {
      this.#session = null
      session.destroy()
    }
  }

  async #open(): Promise<Session | null> {
    return this.#bounded(async (deadline) => {
      const { session, facts } = await this.#connector.connect(deadline)
      try {
        // Seen through a pooler, the process that greeted us is not the one that answers.
        const { processID } = session.client as typeof session.client & { readonly processID: number }
        if (processID !== facts.pid) {
          session.destroy()
          return null
        }
        session.client.on('notification', ({ payload }) => this.#heard(payload ?? ''))
        await session.query(`LISTEN ${CHANNEL}`, [], deadline.signal)
        this.#session = session
        return session
      } catch (error) {
        session.destroy()
        throw error
      }
    })
  }

  async #untilEnded(session: Session): Promise<void> {
    while (!session.broken) {
      await this.#pause(PROBE_EVERY_MS, session)
      if (session.broken || this.#stop.signal.aborted) return
      const { standby } = await this.#bounded((deadline) => session.facts(deadline.signal))
      if (standby) return
    }
  }

  async #bounded<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = new Deadline(
      this.#clock,
      { timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#stop.signal },
      'PostgreSQL',
      0,
    )
    try {
      return await work(deadline)
    } finally {
      deadline.close()
    }
  }

  #heard(payload: string): void {
    const key = readNotification(payload)
    for (const wake of (key !== null && this.#wakes.get(key)) || []) wake('changed')
  }

  #wakeAll(): void {
    for (const wakes of this.#wakes.values()) for (const wake of wakes) wake('changed')
  }

  /** Waits for half to all of `delayMs`, or until the store closes or the session ends. */
  #pause(delayMs: number, session?: Session): Promise<void> {
    return new Promise<void>((resolve) => {
      const { signal } = this.#stop
      if (signal.aborted) return resolve()
      const done = () => {
        cancel()
        signal.removeEventListener('abort', done)
        session?.client.off('end', done)
        resolve()
      }
      const cancel = this.#clock.after(delayMs * (1 - this.#clock.random() / 2), done)
      signal.addEventListener('abort', done)
      session?.client.on('end', done)
    })
  }
}
