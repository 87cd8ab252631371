/**
 * The contract between an election and whatever keeps its lease: what the election needs, and all that it knows of
 * stores. A new store is one folder and one line in `src/stores/open.ts`; `test/conformance` says what it must do.
 *
 * Contention, loss and staleness are values. Only faults are exceptions, and then a `StoreError`.
 */
import type { Attempt } from './attempt.ts'
import type { Begun } from './begun.ts'
import type { HistoryStore } from './history-store.ts'
import type { TenureKey } from './tenure.ts'

export type { Attempt } from './attempt.ts'
export type { Begun, Predecessor } from './begun.ts'
export { StoreError, type StoreErrorKind } from './store-error.ts'

/** Who asks for a tenure. */
export interface Candidate {
  /** A readable label. Never proof of anything. */
  readonly identity: string
  /** The process start, a UUID: the proof. */
  readonly session: string
}

export interface AcquireOptions {
  readonly ttlMs: number
  /** Highest generation ever seen or configured: takes effect only while the store's is not above it. */
  readonly above: number
}

/** A record as stored, expired or not. For diagnostics and hints, never a reason to act. */
export interface LeaseView {
  /** The holder's label, null when free. */
  readonly holder: string | null
  readonly session: string | null
  readonly generation: number
  /** When it expires on the store's clock, in ISO 8601; null when free, or where the store has no such clock. */
  readonly expiresAt: string | null
  /** Time until then on the store's clock, 0 when free or expired; null where the store cannot tell. */
  readonly remainingMs: number | null
}

/** The lease is ours, under this generation, for the ttl that was asked for, counted from the send. */
export interface Granted {
  readonly kind: 'granted'
  readonly generation: number
  /** Of an acquire: how long nobody held the lease, on the store's clock; null when unknown or never held. */
  readonly leaderlessMs: number | null
  /** Of an acquire, where the store keeps a history. For the history alone. */
  readonly begun?: Begun
}

/** Not granted, and what stands instead, as far as known. */
export interface Refused {
  readonly kind: 'refused'
  readonly holder: string | null
  readonly session: string | null
  readonly generation: number
  /** How long until it is worth asking again, on the store's clock; 0 when free; null when unknown. */
  readonly remainingMs: number | null
}

/** The tenure is no longer in the store. Final. */
export interface Lost {
  readonly kind: 'lost'
}

/** Somebody else was in the way, or the request came too late to be written. Says nothing; ask again. */
export interface Contended {
  readonly kind: 'contended'
}

export interface Released {
  readonly kind: 'released'
  /** When the lease became free, on the store's clock, milliseconds since 1970. For the history alone. */
  readonly atMs?: number
}

/** Ends a watch. Idempotent. */
export interface Watch {
  close(): void
}

/** What a watch saw: `changed` is worth a question to a follower, `suspect` also to the holder. */
export type Hint = 'changed' | 'suspect'

/** One place where leases are kept. Every method may throw a `StoreError`, and nothing else. */
export interface LeaseStore {
  /** Name of the kind of store: `sqlite`, `postgres`, … */
  readonly kind: string
  /** Where the leases are, for people, without secrets. */
  readonly location: string
  /** The shortest ttl that this store can keep. */
  readonly leastTtlMs: number
  /** Where it also keeps the tenures that were. Its failure concerns no lease. */
  readonly history?: HistoryStore

  /** Begins a new tenure under a new generation, also when the store still names this session. */
  acquire(
    election: string,
    candidate: Candidate,
    options: AcquireOptions,
    attempt: Attempt,
  ): Promise<Granted | Refused | Contended>
  /** Extends a live tenure. Only `lost` ends it. */
  renew(tenure: TenureKey, ttlMs: number, attempt: Attempt): Promise<Granted | Lost | Contended>
  /** Gives up a tenure, expired or not; changes nothing once another tenure has begun. */
  release(tenure: TenureKey, attempt: Attempt): Promise<Released | Lost | Contended>
  /** The record as stored; null when there is none. */
  current(election: string, attempt: Attempt): Promise<LeaseView | null>
  /** Calls `wake` when the lease may have changed. Hints only: all of them may be lost. */
  watch?(election: string, wake: (hint: Hint) => void): Watch
  /** Closes what is open. Nothing else may be called afterwards. */
  close(): Promise<void>
}
