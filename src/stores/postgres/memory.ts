/** What this process has seen of one election, and what it concludes about a holder that is silent. */
import type { Clock } from '../../clock/clock.ts'
import { Observation } from '../observation.ts'

/** The part of a row that an observation is made of. */
export interface Sighting {
  readonly generation: number
  /** Changes with every write of a holder. */
  readonly mark: string
  /** The ttl of the last write; null where nobody ever held it. */
  readonly rowTtlMs: number | null
  /** The server may have forgotten tenures: the row is free only after an observation. */
  readonly rewound: boolean
  /** The row lies further ahead than its own ttl: the server's clock was set back. */
  readonly ahead: boolean
}

/** Marks that have been seen unchanged for long enough, '' where not. */
interface Marks {
  /** For a row that lies ahead of the server's clock. */
  readonly ahead: string
  /** For a row on a server that may have forgotten tenures. */
  readonly rewound: string
}

export class ElectionMemory {
  readonly #observation: Observation
  #rowTtlMs: number | null = null
  #highestGeneration = 0

  constructor(clock: Clock) {
    this.#observation = new Observation(clock)
  }

  get highestGeneration(): number {
    return this.#highestGeneration
  }

  sawGeneration(generation: number): void {
    this.#highestGeneration = Math.max(this.#highestGeneration, generation)
  }

  see(sighting: Sighting): void {
    this.sawGeneration(sighting.generation)
    this.#rowTtlMs = sighting.rowTtlMs
    this.#observation.see(sighting.mark)
  }

  /** What may be claimed of the row in a request that is sent now. */
  marks(ttlMs: number): Marks {
    const { mark, unchangedMs } = this.#observation
    const claim = (waitMs: number) => (mark !== null && unchangedMs >= waitMs ? mark : '')
    return { ahead: claim(this.#aheadWaitMs(ttlMs)), rewound: claim(this.#rewoundWaitMs(ttlMs)) }
  }

  /** How long until asking is worth it again, given what the server said remains; after `see`. */
  worthAskingInMs(sighting: Sighting, remainingMs: number, ttlMs: number): number {
    const { unchangedMs } = this.#observation
    if (sighting.rewound) return Math.max(0, this.#rewoundWaitMs(ttlMs) - unchangedMs)
    if (!sighting.ahead) return remainingMs
    return Math.min(remainingMs, Math.max(0, this.#aheadWaitMs(ttlMs) - unchangedMs))
  }

  #aheadWaitMs(ttlMs: number): number {
    return this.#rowTtlMs ?? ttlMs
  }

  #rewoundWaitMs(ttlMs: number): number {
    return Math.max(this.#rowTtlMs ?? ttlMs, ttlMs)
  }
}
