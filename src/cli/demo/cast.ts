/** Who plays in the story, and what is said between them. Everything here can be sent between processes as JSON. */
import type { Contended, Granted, Refused } from '../../election/lease-store.ts'
import type { Fenced } from '../../fencing/fence.ts'

export type Name = 'a' | 'b'

/** What the application decided: how many instances are to run. */
export interface Decision {
  readonly size: number
  /** Whether the write shows its generation, or just writes. */
  readonly fenced: boolean
}

/** "May I act?", as `GET /v1/leadership` answers it, in short. */
export interface Answer {
  readonly leading: boolean
  readonly generation: number | null
  readonly validForMs: number
}

/** The application's one row. */
export interface Fleet {
  readonly size: number
  readonly set_by: string
}

/** An application and its candidate. */
export interface Actor {
  /** Asks the store for a tenure. */
  acquire(): Promise<Granted | Refused | Contended>
  /** May it act, at this moment? The application goes by this answer until it asks again. */
  check(): Promise<Answer>
  /** Writes, on the last answer. The value is the number of rows. */
  write(decision: Decision): Promise<Fenced<number>>
}

/** An actor as the story directs it. */
export interface Player extends Actor {
  /** Returns once it stands still. What it is asked from now on it does when it wakes. */
  freeze(): Promise<void>
  wake(): void
}

export interface Cast {
  readonly a: Player
  readonly b: Player
  /** Moves the clock that all of them read. */
  advance(ms: number): void
  /** The application's data, as anybody sees them. */
  fleet(): Fleet
}
