/** What HTTP asks of the elections that run in this process. */
import type { Answer, Drained, HistoryView, Resigned, Status, Transition } from '../election/status.ts'

/** One election, as HTTP sees it. */
export interface ElectionHandle {
  readonly name: string
  /** Computed now; promises nothing. */
  status(): Status
  /** Computed now; when leading, the election remembers to keep it true for `validForMs`. */
  answer(): Answer
  /** Steps down, or holds off where it does not lead. Null: the hold-off that was configured. */
  resign(holdOffMs: number | null): Resigned
  /** The application's work under `generation` has stopped. */
  drained(generation: number): Drained
  /** The last tenures; within a second, and without fail. */
  history(): Promise<HistoryView>
  /** Calls `listen` synchronously at each transition, in order. Returns what ends that. */
  onTransition(listen: (transition: Transition, status: Status) => void): () => void
}

/** Whether the process turns. */
export interface Liveness {
  readonly ok: boolean
  readonly message: string
}

/** One thing that has to hold before this instance can contend. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly message: string
}

/** Whether this instance is able to contend; says nothing about who leads. */
export interface Readiness {
  readonly ok: boolean
  readonly checks: readonly Check[]
}

export interface Sidecar {
  readonly elections: readonly ElectionHandle[]
  live(): Liveness
  ready(): Readiness
}
