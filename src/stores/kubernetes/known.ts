/** What one store knows of one election: the object to write next, and whether a watch keeps it up to date. */
import type { TenureKey } from '../../election/tenure.ts'
import type { LeaseRecord } from './lease.ts'
import type { Asked, Observed } from './observed.ts'

const DEFAULT_TTL_MS = 15_000
/**
 * A holder renews every half of its duration, client-go more often. When two thirds went by without a renewal,
 * either it is gone, or the watch is: then only a question tells.
 */
const OVERDUE = 2 / 3

export class Known {
  readonly observed: Observed
  /** The record as last seen; null where there was none. */
  latest: LeaseRecord | null = null
  /** The tenure that was last granted to this process and not ended since, as far as known. */
  held: Pick<TenureKey, 'generation' | 'session'> | null = null
  /** Of our own last request: the duration where a record states none. */
  ttlMs = DEFAULT_TTL_MS
  /** Whether the watch that is up has shown `latest`. */
  watched = false
  /** Whether a twin was reported. */
  twinNoted = false

  constructor(observed: Observed) {
    this.observed = observed
  }

  /** Takes note of the answer to a question. */
  answered(record: LeaseRecord | null, asked: Asked): void {
    const isNews =
      record === null
        ? this.observed.seeNone(this.ttlMs, asked)
        : this.observed.see(record, this.ttlMs, asked)
    if (!isNews) return
    if (record?.resourceVersion !== this.latest?.resourceVersion) this.watched = false
    this.latest = record
  }

  /** Takes note of what a watch showed. False when something newer is known already. */
  shown(record: LeaseRecord): boolean {
    if (!this.observed.see(record, this.ttlMs, null)) return false
    this.latest = record
    this.watched = true
    return true
  }

  /** Takes note of a deletion that a watch showed. False when something newer is known already. */
  deleted(resourceVersion: string): boolean {
    if (!this.observed.seeDeleted(resourceVersion, this.ttlMs)) return false
    this.latest = null
    this.watched = false
    return true
  }

  /** The record, where the watch vouches for it and its holder is not overdue. */
  get vouched(): LeaseRecord | null {
    const { latest } = this
    if (!this.watched || latest === null) return null
    if (latest.session === null) return latest
    const durationMs = latest.durationMs ?? this.ttlMs
    return this.observed.unchangedMs(latest) < durationMs * OVERDUE ? latest : null
  }
}
