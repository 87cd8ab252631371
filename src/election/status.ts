/** What an election tells about itself: the vocabulary that HTTP, metrics, logs and the command line share. */
import type { StoreErrorKind } from './store-error.ts'

export const STATES = ['following', 'leading', 'draining', 'observing', 'stopped'] as const
/** `draining` still holds the lease, but has told the application to stop: it never answers "leading". */
export type State = (typeof STATES)[number]

export const REASONS = [
  'started', // nothing happened yet
  'elected', // the store granted a tenure
  'deadline', // act-until passed before a renewal succeeded
  'lost', // the store says that the tenure is no longer ours
  'resigned', // asked to step down
  'drained', // the application said that its work under this generation has stopped
  'lapsed', // the drain time ended without `drained`: the lease is left to run out
  'unhealthy', // the application is not well
  'shutdown', // the process is stopping
  'fault', // a fault in Tenure itself: the tenure was given up
] as const
/** Why the present state began. */
export type Reason = (typeof REASONS)[number]

/** The record that the store last showed us: a report, not a fact about now. */
export interface Seen {
  /** The holder's label, null when free. */
  readonly holder: string | null
  readonly generation: number
  /** What was left on the store's clock when seen, less what has gone by since; 0 when free; null if unknown. */
  readonly expiresInMs: number | null
  /** How long ago it was seen. */
  readonly observedAgeMs: number
}

export interface StoreFault {
  readonly kind: StoreErrorKind
  readonly message: string
}

export interface StoreStatus {
  readonly kind: string
  readonly location: string
  /** Time since the last answer of the store; null before the first one. */
  readonly lastSuccessAgoMs: number | null
  /** The fault that the last request met; null when it was answered. */
  readonly error: StoreFault | null
}

/** One election at one instant. */
export interface Status {
  readonly election: string
  readonly identity: string
  /** May this instance act now? */
  readonly leading: boolean
  /** Of our tenure; null unless leading. */
  readonly generation: number | null
  /** Of our tenure; null unless leading. */
  readonly session: string | null
  /** Time until act-until; 0 unless leading. */
  readonly actForMs: number
  readonly state: State
  readonly reason: Reason
  /** When `state` and `reason` came about: wall clock, milliseconds since 1970. For people. */
  readonly sinceMs: number
  /** Changes with every transition; begins anew with every process. */
  readonly revision: string
  /** Null before the store first answered, and while there is no record. */
  readonly current: Seen | null
  /** The tenure being drained, and how long its work may still go on; null unless draining. */
  readonly draining: { readonly generation: number; readonly leaseRemainingMs: number } | null
  readonly store: StoreStatus
}

/** A status that promises: the caller may act for `validForMs`, counted from when it sent its question. */
export interface Answer extends Status {
  readonly validForMs: number
}

/** A change that a reader may want to hear of: of state, of reason, or (`from` and `to` equal) of the holder seen. */
export interface Transition {
  readonly revision: string
  readonly from: State
  readonly to: State
  readonly reason: Reason
  /** The tenure that began or ended with it; null where none did. */
  readonly generation: number | null
}

export const ENDINGS = [
  ...REASONS,
  'seen', // another's tenure, in the memory of this process: it cannot know why it ended
  'expired', // the lease ran out, and its holder did not say why
  'released', // the lease was given back, and its holder did not say why
  'unknown', // nobody said how it ended
] as const
/** Why a tenure ended: what its holder said, or else how its lease became free. */
export type Ending = (typeof ENDINGS)[number]

/**
 * A tenure in the past or present, milliseconds since 1970: on the store's clock where the store keeps a history, by
 * the wall clock of this process where it only saw it.
 */
export interface TenureRecord {
  /** Null where it had gone before anybody wrote it down. */
  readonly holder: string | null
  readonly generation: number
  readonly fromMs: number
  /** Null while it lasts, and where nobody could tell. */
  readonly untilMs: number | null
  /** Null while it lasts. */
  readonly reason: Ending | null
  /** How long nobody led before it, on the store's clock; null where unknown. */
  readonly leaderlessMs: number | null
}

/** The tenures that are known, the oldest first, and where from. */
export interface HistoryView {
  /** `memory`: only what this process saw since it started. */
  readonly source: 'store' | 'memory'
  /** Why the store's history could not be read; null where it was read, or where the store keeps none. */
  readonly error: StoreFault | null
  readonly tenures: readonly TenureRecord[]
}

export type Resigned =
  | { readonly accepted: true; readonly generation: number | null }
  | { readonly accepted: false; readonly message: string }

export type Drained =
  | { readonly accepted: true; readonly generation: number }
  | { readonly accepted: false; readonly current: number | null }
