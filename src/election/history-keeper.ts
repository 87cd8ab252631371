/**
 * Writes the tenures of this process down in a store that keeps a history, beside the election and after it.
 *
 * Nothing here is waited for by the election. One request is under way at a time, none lasts long, and what waits is
 * bounded: it is dropped, and counted, where the store does not take it.
 */
import { createHash } from 'node:crypto'
import type { Cancel, Clock } from '../clock/clock.ts'
import { HISTORY_MOST, type History } from './history.ts'
import { bounded } from './history-attempt.ts'
import type { HistoryEntry, HistoryStore } from './history-store.ts'
import { withSeen } from './history-view.ts'
import { type Granted, type Predecessor, StoreError } from './lease-store.ts'
import { heldTenure, type Machine } from './machine.ts'
import { asStoreError } from './requests.ts'
import type { HistoryView } from './status.ts'
import { RELEASE_WITHIN_MS } from './timing.ts'

/** Shorter than a release may take: a store that hangs holds up no shutdown for the history's sake. */
export const WRITE_TIMEOUT_MS = RELEASE_WITHIN_MS - 100
/** For people who wait for a page. */
export const READ_TIMEOUT_MS = 1_000
/** From a failure to the next write. */
export const RETRY_MS = 5_000
/** From a write that met others to the next, and how often before it counts as a failure. */
const CONTENDED_PAUSE_MS = 100
const CONTENDED_MOST = 10
/** Tenures that wait to be written. */
export const WAITING_MOST = 20
/** How long a shutdown waits for the last words. */
export const FINISH_MOST_MS = 200
/** Of the digest of a session: enough to tell processes apart. */
const WRITER_CHARS = 16

export interface HistoryKeeperParts {
  readonly store: HistoryStore
  readonly clock: Clock
  readonly election: string
  readonly identity: string
  readonly session: string
  /** What this process remembers by itself. */
  readonly memory: History
  /** Told of each request that failed and of each tenure that was dropped. */
  readonly failed: (error: StoreError) => void
}

/** What the store replied last that concerns the tenure that is held. */
export interface Replies {
  readonly grant: Granted | null
  /** When it was given back; null when it was not. */
  readonly releasedMs: number | null
}

export class HistoryKeeper {
  readonly #parts: HistoryKeeperParts
  readonly #writer: string
  /** By generation, the oldest first. */
  readonly #waiting = new Map<number, HistoryEntry>()
  /** The tenure that is held. */
  #current: HistoryEntry | null = null
  #writing = false
  #contentions = 0
  #cancelPause: Cancel | null = null
  #finish: (() => void) | null = null
  #finished = false
  #reading: Promise<HistoryView> | null = null

  constructor(parts: HistoryKeeperParts) {
    this.#parts = parts
    this.#writer = createHash('sha256').update(parts.session).digest('hex').slice(0, WRITER_CHARS)
  }

  /** Compares two machines, and takes note of a tenure of ours that began, is about to end, or ended. */
  note(before: Machine, after: Machine, { grant, releasedMs }: Replies): void {
    const had = heldTenure(before.phase)
    const held = heldTenure(after.phase)
    const { state, reason } = after.phase
    if (had !== null && had.generation !== held?.generation) {
      this.#learn({ reason, untilMs: releasedMs })
      this.#current = null
    }
    if (held !== null && had?.generation !== held.generation) this.#begin(held.generation, grant)
    // Said beforehand, as a process that stops may have no time to say it afterwards.
    if (state === 'draining' && this.#current?.reason !== reason) this.#learn({ reason })
  }

  /** What the store has, and what this process knows beyond it. Never takes long, never fails. */
  view(): Promise<HistoryView> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** Writes what waits, for a short time at most; nothing is written any more afterwards. */
  finish(): Promise<void> {
    this.#cancelPause?.()
    return new Promise((resolve) => {
      const finish = () => {
        cancel()
        this.#finished = true
        resolve()
      }
      const cancel = this.#parts.clock.after(FINISH_MOST_MS, finish)
      this.#finish = finish
      this.#pump()
    })
  }

  #begin(generation: number, grant: Granted | null): void {
    if (grant?.begun === undefined || grant.generation !== generation) return
    const { fromMs, before } = grant.begun
    this.#put({
      generation,
      holder: this.#parts.identity,
      writer: this.#writer,
      fromMs,
      leaderlessMs: grant.leaderlessMs,
      reason: null,
      untilMs: null,
      before: before === null ? null : this.#named(before),
    })
  }

  /** A lease that was given back names nobody; whoever watched may remember. */
  #named(before: Predecessor): Predecessor {
    const seen = this.#parts.memory.tenures.find(({ generation }) => generation === before.generation)
    return { ...before, holder: before.holder ?? seen?.holder ?? null }
  }

  #learn(news: Partial<Pick<HistoryEntry, 'reason' | 'untilMs'>>): void {
    if (this.#current !== null) this.#put({ ...this.#current, ...news })
  }

  #put(entry: HistoryEntry): void {
    this.#current = entry
    this.#waiting.set(entry.generation, entry)
    const [oldest] = this.#waiting.keys()
    if (oldest !== undefined && this.#waiting.size > WAITING_MOST) {
      this.#waiting.delete(oldest)
      const message = `tenure ${oldest} is not written down: ${WAITING_MOST} newer ones wait for the store`
      this.#parts.failed(new StoreError('unavailable', message, { cause: null }))
    }
    // Some stores write while they are being asked: not before the election has done what this step asked for.
    queueMicrotask(() => this.#pump())
  }

  #pump(): void {
    if (this.#writing || this.#finished) return
    const [next] = this.#waiting.values()
    if (next === undefined || this.#cancelPause !== null) {
      this.#finish?.()
      return
    }
    this.#writing = true
    void this.#write(next).then((pauseMs) => {
      this.#writing = false
      if (pauseMs === 0) this.#pump()
      else if (this.#finish === null) this.#pause(pauseMs)
      else this.#finish()
    })
  }

  #pause(pauseMs: number): void {
    this.#cancelPause = this.#parts.clock.after(pauseMs, () => {
      this.#cancelPause = null
      this.#pump()
    })
  }

  /** Returns how long to wait before the next one. */
  async #write(entry: HistoryEntry): Promise<number> {
    const { store, clock, election, failed } = this.#parts
    try {
      const outcome = await bounded(clock, WRITE_TIMEOUT_MS, (attempt) =>
        store.write(election, entry, attempt),
      )
      if (outcome === 'contended') return this.#contended()
      this.#contentions = 0
      this.#done(entry)
      return 0
    } catch (cause) {
      const error = asStoreError(cause)
      failed(error)
      // What somebody has to mend first is not waited for: the end of the tenure tells all of it again.
      if (error.kind !== 'unavailable') this.#done(entry)
      return RETRY_MS
    }
  }

  #contended(): number {
    this.#contentions++
    if (this.#contentions <= CONTENDED_MOST) return CONTENDED_PAUSE_MS
    this.#contentions = 0
    const message = `others were in the way ${CONTENDED_MOST + 1} times in a row`
    this.#parts.failed(new StoreError('unavailable', message, { cause: null }))
    return RETRY_MS
  }

  /** More may have become known meanwhile: that still waits. */
  #done(entry: HistoryEntry): void {
    if (this.#waiting.get(entry.generation) === entry) this.#waiting.delete(entry.generation)
  }

  async #read(): Promise<HistoryView> {
    const { store, clock, election, memory, failed } = this.#parts
    try {
      const stored = await bounded(clock, READ_TIMEOUT_MS, (attempt) =>
        store.read(election, HISTORY_MOST, attempt),
      )
      return { source: 'store', error: null, tenures: withSeen(stored, memory.tenures) }
    } catch (cause) {
      const error = asStoreError(cause)
      failed(error)
      const { kind, message } = error
      return { source: 'memory', error: { kind, message }, tenures: memory.tenures }
    }
  }
}
