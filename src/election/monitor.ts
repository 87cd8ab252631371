import type { StoreError } from './lease-store.ts'
import type { Status, Transition } from './status.ts'

export const OPERATIONS = ['acquire', 'renew', 'release', 'current'] as const
export type Operation = (typeof OPERATIONS)[number]

export const RESULTS = [
  'granted',
  'refused',
  'released',
  'read',
  'lost',
  'contended',
  'timeout',
  'aborted',
  'error',
] as const
/** How a store request ended. `timeout` and `aborted`: the outcome is unknown. */
export type Result = (typeof RESULTS)[number]

/** One store request that has ended. */
export interface RequestReport {
  readonly election: string
  readonly op: Operation
  readonly result: Result
  readonly durationMs: number
  /** Of a granted renewal: what was left until act-until when it came. */
  readonly slackMs: number | null
  /** Of a granted acquire: how long nobody held the lease, on the store's clock. */
  readonly leaderlessMs: number | null
  readonly error: StoreError | null
}

/** Who watches elections: metrics and logs. Called after the fact; must not throw and decides nothing. */
export interface Monitor {
  transition(transition: Transition, status: Status): void
  /** The store names another holder, or another generation, than before. */
  holder(status: Status): void
  request(report: RequestReport): void
  /** Tenures keep ending early: this candidate does not stand for `delayMs`. */
  damped(election: string, delayMs: number): void
  /** The process, or a clock, stood still for about this long. */
  paused(election: string, pauseMs: number): void
  /** The driver met an exception that is a defect of ours. */
  fault(election: string, error: unknown): void
}

/** Tells several monitors. */
export function monitors(...all: readonly Monitor[]): Monitor {
  return {
    transition: (transition, status) => {
      for (const one of all) one.transition(transition, status)
    },
    holder: (status) => {
      for (const one of all) one.holder(status)
    },
    request: (report) => {
      for (const one of all) one.request(report)
    },
    damped: (election, delayMs) => {
      for (const one of all) one.damped(election, delayMs)
    },
    paused: (election, pauseMs) => {
      for (const one of all) one.paused(election, pauseMs)
    },
    fault: (election, error) => {
      for (const one of all) one.fault(election, error)
    },
  }
}
