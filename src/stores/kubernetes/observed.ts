/** What was seen of one election's Lease, and what follows for its expiry and for the next generation. */
import { type Clock, type Instant, later, toWaitMs } from '../../clock/clock.ts'
import { Observation } from '../observation.ts'
import type { LeaseRecord } from './lease.ts'

/** Taken before a question is sent: tells later whether anything newer was seen meanwhile. */
export type Asked = number

/**
 * The record that was seen last, and since when.
 *
 * No clock is shared with whoever writes the record. So its holder counts as alive until the record was seen
 * unchanged for the duration that it states, counted from after the reply that first showed it. A record that
 * vanished, or came to lie behind an earlier one (a restored etcd), while its holder may still act, is waited out
 * for that whole duration.
 */
export class Observed {
  readonly #clock: Clock
  readonly #observation: Observation
  #last: LeaseRecord | null = null
  #count = 0
  /** Whether the last record was seen unchanged for all of its duration. */
  #ranOut = false
  #waitUntil: Instant | null = null
  #highest = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#observation = new Observation(clock)
  }

  /** The highest generation ever seen. */
  get highest(): number {
    return this.#highest
  }

  /** Before a question is sent. */
  ask(): Asked {
    return this.#count
  }

  /**
   * Takes note of a record just received; `ttlMs` is the duration where it states none. `asked` is null for a
   * watch, which has asked for nothing. False when something newer has been seen since: then it says nothing.
   */
  see(record: LeaseRecord, ttlMs: number, asked: Asked | null): boolean {
    const last = this.#last
    const older = last !== null && isOlder(record.resourceVersion, last.resourceVersion)
    if (older && asked !== this.#count) return false
    if (last !== null && (record.uid !== last.uid || record.generation < last.generation)) this.#lose(ttlMs)
    this.#count++
    this.#last = record
    this.#highest = Math.max(this.#highest, record.generation)
    const unchangedMs = this.#observation.see(record.mark)
    this.#ranOut = record.session === null || unchangedMs >= (record.durationMs ?? ttlMs)
    return true
  }

  /** Takes note that there is no record. False when one has been seen since the question was sent. */
  seeNone(ttlMs: number, asked: Asked): boolean {
    if (asked !== this.#count) return false
    this.#count++
    if (this.#last !== null) this.#lose(ttlMs)
    this.#last = null
    return true
  }

  /** A watch showed that the record is gone. False when a newer one has been seen since. */
  seeDeleted(resourceVersion: string, ttlMs: number): boolean {
    const last = this.#last
    if (last === null || isOlder(resourceVersion, last.resourceVersion)) return false
    return this.seeNone(ttlMs, this.#count)
  }

  /** For how long the record has been seen as it is; 0 where a newer one has been seen. */
  unchangedMs(record: LeaseRecord): number {
    return this.#observation.mark === record.mark ? this.#observation.unchangedMs : 0
  }

  /** What is left of the record's duration; 0 when it is free or has run out. */
  remainingMs(record: LeaseRecord, ttlMs: number): number {
    if (record.session === null) return 0
    return Math.max(0, Math.ceil((record.durationMs ?? ttlMs) - this.unchangedMs(record)))
  }

  /** How long the holder of a record that vanished may still act: nobody else begins before. */
  waitMs(): number {
    if (this.#waitUntil === null) return 0
    return Math.max(0, Math.ceil(toWaitMs(this.#waitUntil, this.#clock.now())))
  }

  #lose(ttlMs: number): void {
    if (this.#ranOut || this.#last === null) return
    this.#waitUntil = later(this.#clock.now(), this.#last.durationMs ?? ttlMs)
  }
}

/** Resource versions of one kind grow; where they are no numbers, nothing is known to be older. */
function isOlder(version: string, than: string): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(than)) return false
  return BigInt(version) < BigInt(than)
}
