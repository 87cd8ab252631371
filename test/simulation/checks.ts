/** The guarantees of design.md §2, checked on everything that happens. The first breach ends the run. */
import type { Candidate, Given } from './candidate.ts'
import { BOOT_GRAIN_MS } from './host.ts'
import type { Write } from './lease-server.ts'
import type { World } from './world.ts'

export class Breach extends Error {
  constructor(guarantee: string, what: string) {
    super(`${guarantee}: ${what}`)
    this.name = 'Breach'
  }
}

/** Smallest difference that is more than rounding. */
const ROUNDING_MS = 0.01

interface Leader {
  readonly name: string
  readonly session: string
  readonly generation: number
  /** When its act-until comes, in true time, unless it renews. */
  readonly endsAtMs: number
}

export class Checks {
  readonly #world: World
  readonly #candidates: readonly Candidate[]
  #highest = 0
  #given: Given[] = []
  /** When the tenure of each session will be over, as last heard while its process ran. */
  readonly #endsAtMs = new Map<string, { generation: number; endsAtMs: number }>()
  /** Tenures that were released or drained by their own holder, or begun, as the store saw it. */
  tenures = 0
  answers = 0

  constructor(world: World, candidates: readonly Candidate[]) {
    this.#world = world
    this.#candidates = candidates
  }

  /** G1, G2, G4 (promises) and G5, at each write of the store. */
  write(write: Write): void {
    const { op, before, generation, session, storeMs } = write
    if (op === 'grant') {
      if (generation <= this.#highest) {
        throw new Breach('G1', `generation ${generation} was granted after ${this.#highest}`)
      }
      this.#highest = generation
      this.tenures++
      this.#grantedInTime(write)
    } else if (before.generation !== generation || before.session !== session) {
      throw new Breach('G5', `a ${op} of generation ${generation} changed the tenure ${before.generation}`)
    }
    if (op === 'release') this.#promisesKept(generation, session)
    if (op === 'renew' && before.expiresAt <= storeMs) {
      throw new Breach('G2', `the tenure ${generation} was renewed after it had expired`)
    }
  }

  /** G2: nobody is granted a tenure while another's is alive on the store's clock, or acts under it. */
  #grantedInTime(write: Write): void {
    const holder = this.#leaders().find(({ session }) => session !== write.session)
    if (holder !== undefined) {
      throw new Breach(
        'G7',
        `${write.generation} was granted while ${holder.name} leads under ${holder.generation}`,
      )
    }
    const own = this.#leaders().find(({ session }) => session === write.session)
    if (own !== undefined) throw new Breach('G2', `${own.name} was granted a tenure inside its own`)
    // A session's own earlier tenure may be replaced only when nothing given under it still holds.
    const open = this.#given.find(
      (given) =>
        !given.waived && given.session !== write.session && given.untilMs > this.#world.nowMs + ROUNDING_MS,
    )
    if (open !== undefined) {
      throw new Breach(
        'G4',
        `${write.generation} was granted inside a promise of ${open.host} under ${open.generation}`,
      )
    }
  }

  #promisesKept(generation: number, session: string): void {
    const broken = this.#given.find(
      (given) =>
        given.session === session &&
        !given.waived &&
        given.generation <= generation &&
        given.untilMs > this.#world.nowMs + ROUNDING_MS,
    )
    if (broken !== undefined) {
      const leftMs = broken.untilMs - this.#world.nowMs
      throw new Breach(
        'G4',
        `${broken.host} released ${generation} ${leftMs.toFixed(2)} ms inside its promise`,
      )
    }
  }

  answered(candidate: Candidate, given: Given): void {
    this.answers++
    const { nowMs } = this.#world
    this.#given = this.#given.filter(({ untilMs }) => untilMs > nowMs)
    const other = this.#given.find(({ session, waived }) => session !== given.session && !waived)
    if (other !== undefined) {
      throw new Breach('G4', `${given.host} answers leading inside a promise of ${other.host}`)
    }
    if (given.generation !== this.#highest) {
      throw new Breach(
        'G7',
        `${candidate.host.name} answers leading under ${given.generation}, not ${this.#highest}`,
      )
    }
    this.#given.push(given)
  }

  /** The application has said that its work under this generation is over. */
  drained(candidate: Candidate, generation: number): void {
    for (const given of this.#given) {
      if (given.session === candidate.session && given.generation === generation) given.waived = true
    }
  }

  #leaders(): Leader[] {
    return this.#candidates.flatMap((candidate) => {
      const status = candidate.answering?.status()
      if (status === undefined || !status.leading || status.generation === null) return []
      const endsAtMs = this.#world.nowMs + status.actForMs / candidate.host.rate
      return [
        { name: candidate.host.name, session: candidate.session, generation: status.generation, endsAtMs },
      ]
    })
  }

  /** G7, after every single happening: nobody but the holder of the newest tenure can answer "leading". */
  always(): void {
    const leaders = this.#leaders()
    if (leaders.length > 1) {
      throw new Breach(
        'G7',
        `${leaders.map(({ name, generation }) => `${name} under ${generation}`).join(' and ')} lead`,
      )
    }
    const [leader] = leaders
    if (leader === undefined) return
    this.#notRevived(leader)
    if (leader.generation !== this.#highest) {
      throw new Breach(
        'G7',
        `${leader.name} leads under ${leader.generation} after ${this.#highest} was granted`,
      )
    }
  }

  /** G4: once act-until has passed, nothing brings that tenure back, not even a reply that was under way. */
  #notRevived(leader: Leader): void {
    const { session, generation, endsAtMs } = leader
    const last = this.#endsAtMs.get(session)
    if (last?.generation === generation && this.#world.nowMs > last.endsAtMs + BOOT_GRAIN_MS) {
      throw new Breach('G4', `${leader.name} leads again under ${generation}, which was over`)
    }
    this.#endsAtMs.set(session, { generation, endsAtMs })
  }

  /** G6, once all faults have been over for long enough. */
  healed(): void {
    if (this.#leaders().length !== 1) throw new Breach('G6', 'nobody leads, and nothing stands in the way')
  }
}
