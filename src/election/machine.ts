/**
 * The core of an election: `step(machine, event, input)` gives the next machine and what is to be done.
 *
 * It is pure: clocks and randomness come in with the input, the store's replies with the events. The simulator,
 * the property tests and production run exactly this. README.md in this folder is its design page.
 */
import type { Instant } from '../clock/clock.ts'
import type {
  Contended,
  Granted,
  Hint,
  LeaseView,
  Lost,
  Refused,
  Released,
  StoreError,
  StoreErrorKind,
} from './lease-store.ts'
import type { Operation } from './monitor.ts'
import type { Promises } from './promises.ts'
import { NO_PROMISES } from './promises.ts'
import type { Reason, State } from './status.ts'
import type { Tenure, TenureKey } from './tenure.ts'
import type { Timing } from './timing.ts'

/** What does not change while the process runs. */
export interface Settings {
  readonly election: string
  readonly identity: string
  /** This process start, a UUID. */
  readonly session: string
  readonly timing: Timing
  /** Watches and never takes part. */
  readonly observer: boolean
  /** How long the application may need to stop its work; 0: nothing beyond its promise. */
  readonly drainMs: number
  /** Every generation granted here is above this one. */
  readonly generationFloor: number
}

/** Not holding; asks for the lease when it is worth asking. */
export interface Following {
  readonly state: 'following'
  readonly reason: Reason
  /** When to ask the store next. A hint: a wake-up comes before it. */
  readonly askAt: Instant
  /** Does not stand before this point: hold-off after a resignation, damping after short tenures. */
  readonly standAt: Instant | null
  /** The highest generation known when that began: only another's tenure above it ends the hold-off. */
  readonly standAbove: number
  /** Attempts in a row that met contention, or a record newer than was known. */
  readonly tries: number
  /** Stopping: only waits for a request under way, until this point. */
  readonly stopBy: Instant | null
}

/** Holds the lease; acts while `tenure` is not over. */
export interface Leading {
  readonly state: 'leading'
  readonly reason: 'elected'
  readonly tenure: Tenure
  /** When this tenure began here. */
  readonly since: Instant
  readonly renewAt: Instant
}

/**
 * Holds the lease, answers "not leading", and gives it up in three stages: `working`, the application finishes;
 * `promising`, the answers given are outwaited; `releasing`, the store is told.
 */
export interface Draining {
  readonly state: 'draining'
  readonly reason: Reason
  readonly tenure: Tenure
  readonly stage: 'working' | 'promising' | 'releasing'
  /** End of the drain time while working; afterwards, when to give up on the release. */
  readonly until: Instant
  readonly renewAt: Instant
  /** Stop for good afterwards, rather than follow. */
  readonly exit: boolean
  /** Of a resignation: how long not to stand afterwards. */
  readonly holdOffMs: number
}

/** Watches. */
export interface Observing {
  readonly state: 'observing'
  readonly reason: Reason
  readonly askAt: Instant
}

/** The end. */
export interface Stopped {
  readonly state: 'stopped'
  readonly reason: Reason
}

export type Phase = Following | Leading | Draining | Observing | Stopped

/** The record as it was last shown, and when. */
export interface SeenRecord {
  readonly holder: string | null
  readonly session: string | null
  readonly generation: number
  readonly remainingMs: number | null
  readonly at: Instant
}

/** How the store behaved last. */
export interface StoreHealth {
  readonly lastSuccessAt: Instant | null
  readonly error: { readonly kind: StoreErrorKind; readonly message: string } | null
}

/** The request under way. */
export interface Asking {
  readonly op: Operation
  /** Read just before the request was handed to the store. */
  readonly sentAt: Instant
}

export interface Machine {
  readonly settings: Settings
  readonly phase: Phase
  /** Highest generation ever seen or configured. */
  readonly above: number
  readonly seen: SeenRecord | null
  readonly promises: Promises
  readonly asking: Asking | null
  /** A wake-up came that has not been followed by a question yet. */
  readonly woken: Hint | null
  /** The application is well, as far as we know. */
  readonly healthy: boolean
  /** Tenures in a row that ended against our will within one ttl. */
  readonly flaps: number
  readonly store: StoreHealth
  /** Since when every answer was contention; null when the last one was not. */
  readonly contendedSince: Instant | null
}

export type Event =
  | { readonly type: 'tick' }
  | { readonly type: 'woken'; readonly hint: Hint }
  | { readonly type: 'acquired'; readonly outcome: Granted | Refused | Contended }
  | { readonly type: 'renewed'; readonly outcome: Granted | Lost | Contended }
  | { readonly type: 'released'; readonly outcome: Released | Lost | Contended }
  | { readonly type: 'read'; readonly view: LeaseView | null }
  /** A request failed, timed out or was aborted: its outcome is unknown. */
  | { readonly type: 'failed'; readonly error: StoreError | null }
  | { readonly type: 'resign'; readonly holdOffMs: number | null }
  | { readonly type: 'drained'; readonly generation: number }
  | { readonly type: 'health'; readonly healthy: boolean }
  | { readonly type: 'stop' }
  /** Stop now, and release nothing. */
  | { readonly type: 'abandon' }

export type Command =
  | { readonly type: 'acquire'; readonly above: number; readonly timeoutMs: number }
  | { readonly type: 'renew'; readonly tenure: TenureKey; readonly timeoutMs: number }
  | { readonly type: 'release'; readonly tenure: TenureKey; readonly timeoutMs: number }
  | { readonly type: 'current'; readonly timeoutMs: number }
  /** Give up the request under way; it answers with `failed`. */
  | { readonly type: 'abort' }
  | { readonly type: 'damped'; readonly delayMs: number }
  | {
      readonly type: 'transition'
      readonly from: State
      readonly to: State
      readonly reason: Reason
      /** The tenure that began or ended with it. */
      readonly generation: number | null
    }

/** What one step may know of the world. */
export interface Input {
  readonly now: Instant
  /** Uniform in [0, 1). */
  readonly random: number
}

/** One step under way: its input, and the commands so far. */
export interface Turn extends Input {
  readonly commands: Command[]
}

export function initialMachine(settings: Settings, now: Instant): Machine {
  const phase: Phase = settings.observer
    ? { state: 'observing', reason: 'started', askAt: now }
    : {
        state: 'following',
        reason: 'started',
        askAt: now,
        standAt: null,
        standAbove: 0,
        tries: 0,
        stopBy: null,
      }
  return {
    settings,
    phase,
    above: settings.generationFloor,
    seen: null,
    promises: NO_PROMISES,
    asking: null,
    woken: null,
    healthy: true,
    flaps: 0,
    store: { lastSuccessAt: null, error: null },
    contendedSince: null,
  }
}

/** The tenure that the machine still holds, leading or draining. */
export function heldTenure(phase: Phase): Tenure | null {
  return phase.state === 'leading' || phase.state === 'draining' ? phase.tenure : null
}

/** Goes over to another phase, and says so where state or reason differ. */
export function enter(machine: Machine, phase: Phase, turn: Turn): Machine {
  const { phase: before } = machine
  if (before.state !== phase.state || before.reason !== phase.reason) {
    turn.commands.push({
      type: 'transition',
      from: before.state,
      to: phase.state,
      reason: phase.reason,
      generation: heldTenure(phase)?.generation ?? heldTenure(before)?.generation ?? null,
    })
  }
  return { ...machine, phase }
}

/** Hands a request to the store. The sending time is this step's: read before anything is sent. */
export function ask(machine: Machine, command: Extract<Command, { timeoutMs: number }>, turn: Turn): Machine {
  turn.commands.push(command)
  return { ...machine, asking: { op: command.type, sentAt: turn.now }, woken: null }
}
