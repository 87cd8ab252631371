/** What a question comes to, for the application. */
import type { HeldTenure } from './held.ts'

/**
 * Why this instance may not act:
 * - `not-leading`, `draining`: the sidecar says so; `draining` asks to end the work;
 * - `drained`: this client declared the work under the tenure ended, and waits for the next one;
 * - `late`: the answer came after what it promised had run out;
 * - `timeout`, `unreachable`: no answer in time; nobody there, or a connection that broke;
 * - `refused`, `fault`: an answer 4xx, whose remedy the message repeats; an answer 5xx;
 * - `redirect`, `malformed`: what answers there is not a sidecar, or speaks of another election.
 */
export type NotLeadingReason =
  | 'not-leading'
  | 'draining'
  | 'drained'
  | 'late'
  | 'timeout'
  | 'unreachable'
  | 'refused'
  | 'fault'
  | 'redirect'
  | 'malformed'

export interface NotLeading {
  readonly leading: false
  readonly reason: NotLeadingReason
  /** For people. */
  readonly message: string
  /** What the store last showed to the sidecar: a report, never a reason to act. Null where nothing was told. */
  readonly current: { readonly holder: string | null; readonly generation: number } | null
}

export interface Leading {
  readonly leading: true
  readonly tenure: HeldTenure
}

export type Check = Leading | NotLeading

/** Thrown by `assertLeading` alone. */
export class NotLeadingError extends Error {
  readonly check: NotLeading

  constructor(check: NotLeading) {
    super(`this instance may not act: ${check.message}`)
    this.name = 'NotLeadingError'
    this.check = check
  }
}
