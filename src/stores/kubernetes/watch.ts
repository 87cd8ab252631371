/**
 * Wake-ups: a watch on the Lease of each election that somebody watches here. Hints only: while a watch is down
 * nothing is lost but time and requests, for then the followers poll. A new watch begins with what stands, so that
 * a release that was missed wakes as soon as it is up.
 */
import type { Cancel, Clock } from '../../clock/clock.ts'
import { pause } from '../deadline.ts'
import type { Hint, StoreContext, Watch } from '../store.ts'
import { StoreError } from '../store.ts'
import type { LeaseApi } from './api.ts'
import type { Known } from './known.ts'
import { isNamed, type LeaseRecord, readLease } from './lease.ts'
import { linesOf } from './lines.ts'
import { leaseName } from './names.ts'

/** The server ends a watch after this time, or a quarter longer: a token that was withdrawn is found out. */
const LIFE_SECONDS = 240
const CONNECT_TIMEOUT_MS = 5_000
/** The server sends a bookmark every minute to a watch that has nothing to say. */
const SILENCE_MOST_MS = 90_000
const SILENCE_LEAST_MS = 3_000
const BACKOFF_LEAST_MS = 200
const BACKOFF_MOST_MS = 10_000
/** How soon the right to watch, when it is missing, is tried again in the end. */
const DENIED_PAUSE_MOST_MS = 30_000
/** An API server that has just started refuses everybody for a moment: that is not worth a word. */
const DENIALS_UNSAID = 2

type Wake = (hint: Hint) => void

/** All watches of one store: one on the wire for each election. */
export class LeaseWatches {
  readonly #api: LeaseApi
  readonly #context: StoreContext
  readonly #known: (election: string) => Known
  readonly #running = new Map<string, LeaseWatch>()
  #deniedNoted = false

  constructor(api: LeaseApi, context: StoreContext, known: (election: string) => Known) {
    this.#api = api
    this.#context = context
    this.#known = known
  }

  add(election: string, wake: Wake): Watch {
    const running = this.#running.get(election) ?? this.#start(election)
    // Of its own, so that the same function given twice is two watches.
    const own: Wake = (hint) => wake(hint)
    running.wakes.add(own)
    return {
      close: () => {
        running.wakes.delete(own)
        if (running.wakes.size > 0) return
        running.stop()
        if (this.#running.get(election) === running) this.#running.delete(election)
      },
    }
  }

  /** What is on the wire for this election shows nothing any more. */
  restart(election: string): void {
    this.#running.get(election)?.restart()
  }

  close(): void {
    for (const running of this.#running.values()) running.stop()
    this.#running.clear()
  }

  #start(election: string): LeaseWatch {
    const watch = new LeaseWatch(
      leaseName(election),
      this.#api,
      this.#context.clock,
      this.#known(election),
      (error) => this.#noteDenied(error),
    )
    this.#running.set(election, watch)
    void watch.run()
    return watch
  }

  #noteDenied({ message }: StoreError): void {
    if (this.#deniedNoted) return
    this.#deniedNoted = true
    this.#context.note(`no wake-ups, polling every half ttl instead: ${message}`)
  }
}

/** How one connection ended. `finished`: it worked, and the server or we ended it. */
type Ended = 'finished' | 'failed' | 'denied'

class LeaseWatch {
  readonly wakes = new Set<Wake>()
  readonly #name: string
  readonly #api: LeaseApi
  readonly #clock: Clock
  readonly #known: Known
  readonly #denied: (error: StoreError) => void
  readonly #stop = new AbortController()
  #connection: AbortController | null = null
  #cancelSilence: Cancel | null = null
  #lastDenial: StoreError | null = null

  constructor(name: string, api: LeaseApi, clock: Clock, known: Known, denied: (error: StoreError) => void) {
    this.#name = name
    this.#api = api
    this.#clock = clock
    this.#known = known
    this.#denied = denied
  }

  stop(): void {
    this.wakes.clear()
    this.#stop.abort()
    this.restart()
  }

  /** Ends the connection; the next one begins by itself. */
  restart(): void {
    this.#connection?.abort()
  }

  /** Watches until stopped. Never rejects: the requests for leases report what is wrong with the server. */
  async run(): Promise<void> {
    let failures = 0
    let denials = 0
    while (!this.#stop.signal.aborted) {
      const ended = await this.#watch()
      this.#known.watched = false
      failures = ended === 'finished' ? 0 : failures + 1
      denials = ended === 'denied' ? denials + 1 : 0
      if (denials > DENIALS_UNSAID && this.#lastDenial !== null) this.#denied(this.#lastDenial)
      if (this.#stop.signal.aborted) return
      const delayMs = Math.max(pauseMs(ended, failures) * (1 - this.#clock.random() / 2), this.#api.holdMs)
      await pause(this.#clock, delayMs, this.#stop.signal)
    }
  }

  /** One connection, from connecting to its end. */
  async #watch(): Promise<Ended> {
    const connection = new AbortController()
    this.#connection = connection
    let shown = false
    this.#expect(CONNECT_TIMEOUT_MS)
    try {
      const seconds = Math.round(LIFE_SECONDS * (1 + this.#clock.random() / 4))
      const { body } = await this.#api.watch(this.#name, seconds, connection.signal)
      this.#expect(this.#silenceMs())
      for await (const line of linesOf(body)) {
        if (line === '') continue
        if (!this.#take(line)) return 'failed'
        shown = true
        this.#expect(this.#silenceMs())
      }
      return 'finished'
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'denied') {
        this.#lastDenial = error
        return 'denied'
      }
      // The connections that wait for use are likely to have met the same fate.
      this.#api.dropFree()
      return shown ? 'finished' : 'failed'
    } finally {
      connection.abort()
      this.#connection = null
      this.#cancelSilence?.()
      this.#cancelSilence = null
    }
  }

  /** Takes one event. False when it says that the watch cannot go on. */
  #take(line: string): boolean {
    const event = parseEvent(line)
    if (event === null || event.type === 'ERROR') return false
    const { record } = event
    if (record === null) return true
    const before = this.#known.latest
    if (event.type === 'DELETED') {
      if (this.#known.deleted(record.resourceVersion)) this.#wake(this.#hintFor(null))
    } else if (this.#known.shown(record) && tenureOf(record) !== tenureOf(before)) {
      this.#wake(this.#hintFor(record))
    }
    return true
  }

  /** Our own tenure is named no longer, by something newer than our last write. */
  #hintFor(record: LeaseRecord | null): Hint {
    const { held } = this.#known
    return held !== null && !isNamed(record, held) ? 'suspect' : 'changed'
  }

  #wake(hint: Hint): void {
    for (const wake of [...this.wakes]) wake(hint)
  }

  /** While somebody holds, renewals come: a watch that shows none for so long is dead, or soon of no use. */
  #silenceMs(): number {
    const { latest, ttlMs } = this.#known
    if (latest === null || latest.session === null) return SILENCE_MOST_MS
    return Math.min(SILENCE_MOST_MS, Math.max(SILENCE_LEAST_MS, latest.durationMs ?? ttlMs))
  }

  /** Ends the connection unless something comes within this time. */
  #expect(withinMs: number): void {
    this.#cancelSilence?.()
    this.#cancelSilence = this.#clock.after(withinMs, () => this.#connection?.abort())
  }
}

/** After how many failures in a row; doubles with each. */
function pauseMs(ended: Ended, failures: number): number {
  const mostMs = ended === 'denied' ? DENIED_PAUSE_MOST_MS : BACKOFF_MOST_MS
  return Math.min(mostMs, BACKOFF_LEAST_MS * 2 ** Math.max(0, failures - 1))
}

interface WatchEvent {
  readonly type: string
  /** Null for what is no Lease: bookmarks, errors. */
  readonly record: LeaseRecord | null
}

function parseEvent(line: string): WatchEvent | null {
  try {
    const { type, object } = JSON.parse(line) as { type?: unknown; object?: unknown }
    if (typeof type !== 'string') return null
    return {
      type,
      record: type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' ? readLease(object) : null,
    }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null
    throw error
  }
}

/** A renewal is no news to anybody: only another tenure, or none, is. */
function tenureOf(record: LeaseRecord | null): string {
  return record === null ? '' : `${record.uid} ${record.generation} ${record.holderIdentity ?? ''}`
}
