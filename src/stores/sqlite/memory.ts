import { type Clock, type Instant, shortestElapsedMs } from '../../clock/clock.ts'
import { Observation } from '../observation.ts'
import { markOf } from './lease.ts'
import type { Row } from './statements.ts'

/** What this process remembers of one election. */
class ElectionMemory {
  readonly observation: Observation
  /** The row as last seen in the present content of the file; null before. */
  row: Row | null = null
  /** The highest generation ever seen stored, in this content or an earlier one. */
  highest = 0
  /** The highest generation that a tenure was said to have, stored or not. */
  claimed = 0
  /** Tenures up to this generation were of an earlier content: over. */
  overUpTo = 0
  /** The ttl of the last holder seen. */
  ttlMs = 0

  constructor(clock: Clock) {
    this.observation = new Observation(clock)
  }
}

/**
 * What this process remembers of the leases it saw, against files that forget.
 *
 * A file that was replaced, removed or restored may name no holder although one still acts under a lease in the
 * earlier content. So once content was seen to be lost, the tenures known from before are over, and nothing is
 * acquired for one whole ttl: by then the leases of the earlier content, which nobody can renew, have run out.
 */
export class Memory {
  readonly #clock: Clock
  readonly #elections = new Map<string, ElectionMemory>()
  #lostAt: Instant | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes note of a row just read or written. False when the file must have lost content since the last one. */
  see(election: string, row: Row | null): boolean {
    const memory = this.#of(election)
    const consistent = follows(memory.row, row)
    if (!consistent) this.contentLost()
    memory.row = row
    if (row !== null) {
      memory.observation.see(markOf(row))
      memory.highest = Math.max(memory.highest, row.generation)
      memory.ttlMs = row.ttlMs
    }
    return consistent
  }

  /** The file was seen replaced, removed or restored just now. */
  contentLost(): void {
    this.#lostAt = this.#clock.now()
    for (const memory of this.#elections.values()) {
      memory.overUpTo = Math.max(memory.overUpTo, memory.highest, memory.claimed)
      memory.row = null
    }
  }

  /** A tenure that is about to be renewed or released: over as well, should the content turn out to be lost. */
  claim(election: string, generation: number): void {
    const memory = this.#of(election)
    memory.claimed = Math.max(memory.claimed, generation)
  }

  /** Whether a tenure was of an earlier content. */
  isOver(election: string, generation: number): boolean {
    return generation <= this.#of(election).overUpTo
  }

  /** How long a lease of lost content may still live: nothing is acquired before. Zero when there is none. */
  waitMs(election: string, ttlMs: number): number {
    if (this.#lostAt === null) return 0
    const longestMs = Math.max(ttlMs, this.#of(election).ttlMs)
    return Math.max(0, Math.ceil(longestMs - shortestElapsedMs(this.#lostAt, this.#clock.now())))
  }

  /** For how long the row has been seen as it is. */
  unchangedMs(election: string): number {
    return this.#of(election).observation.unchangedMs
  }

  /** The highest generation ever seen. */
  highest(election: string): number {
    return this.#of(election).highest
  }

  #of(election: string): ElectionMemory {
    let memory = this.#elections.get(election)
    if (memory === undefined) {
      memory = new ElectionMemory(this.#clock)
      this.#elections.set(election, memory)
    }
    return memory
  }
}

/** Whether `next` can have come about from `last` by writes alone. */
function follows(last: Row | null, next: Row | null): boolean {
  if (last === null) return true
  if (next === null || next.writes < last.writes || next.generation < last.generation) return false
  return next.writes > last.writes || markOf(next) === markOf(last)
}
