/** One process on one host, with an application beside it that keeps asking whether it may act. */
import { Election } from '../../src/election/election.ts'
import type { Monitor } from '../../src/election/monitor.ts'
import type { Timing } from '../../src/election/timing.ts'
import type { Bring, Host } from './host.ts'
import { calm, LeaseClient, type Network } from './lease-client.ts'
import type { LeaseServer } from './lease-server.ts'
import type { World } from './world.ts'

/** An answer "leading" that was given, in true time. */
export interface Given {
  readonly host: string
  readonly session: string
  readonly generation: number
  readonly atMs: number
  /** Until when it must stay true. */
  readonly untilMs: number
  waived: boolean
}

export interface CandidateParts {
  readonly world: World
  readonly server: LeaseServer
  readonly timing: Timing
  readonly drainMs: number
  readonly onAnswer: (candidate: Candidate, given: Given) => void
}

export class Candidate {
  readonly host: Host
  readonly network: Network = calm()
  readonly #parts: CandidateParts
  #election: Election | null = null
  session = ''
  /** It was told to stop, and goes away once it has. */
  stopping = false

  constructor(host: Host, parts: CandidateParts) {
    this.host = host
    this.#parts = parts
  }

  get alive(): boolean {
    return this.#election !== null
  }

  /** The election that can answer now: none while the process is dead or stands still. */
  get answering(): Election | null {
    return this.host.running ? this.#election : null
  }

  /** A new process start. */
  start(): void {
    const { world, server, timing, drainMs } = this.#parts
    const clock = this.host.clock()
    this.session = clock.uuid()
    this.stopping = false
    const store = new LeaseClient(world, this.host, server, this.network)
    const settings = {
      election: 'simulated',
      identity: this.host.name,
      session: this.session,
      timing,
      observer: false,
      drainMs,
      generationFloor: 0,
    }
    world.tell(`${this.host.name}: starts as ${this.session.slice(0, 8)}`)
    this.#election = new Election({ settings, store, clock, monitor: this.#monitor() })
    this.#election.start()
    this.#askAgain(this.host.process())
  }

  /** The process dies; nobody is told. */
  kill(): void {
    this.host.kill()
    this.#election = null
  }

  /** SIGTERM. */
  terminate(): void {
    const election = this.answering
    if (election === null || this.stopping) return
    this.stopping = true
    const { session } = this
    election.stop().then(() => {
      this.#parts.world.tell(`${this.host.name}: exits`)
      if (this.session === session) this.kill()
    })
  }

  /** A second SIGTERM. */
  abandon(): void {
    if (this.stopping) this.answering?.abandon()
  }

  /** The application keeps asking, at moments of its own. */
  #askAgain(bring: Bring): void {
    const { world, timing } = this.#parts
    bring(world.random.between(1, timing.ttlMs / 6), () => {
      this.ask()
      this.#askAgain(bring)
    })
  }

  ask(): void {
    const { world, onAnswer } = this.#parts
    const election = this.answering
    if (election === null) return
    const { leading, generation, validForMs } = election.answer()
    if (!leading || generation === null) return
    const untilMs = world.nowMs + validForMs / this.host.rate
    onAnswer(this, {
      host: this.host.name,
      session: this.session,
      generation,
      atMs: world.nowMs,
      untilMs,
      waived: false,
    })
  }

  #monitor(): Monitor {
    const { world } = this.#parts
    const { name } = this.host
    return {
      transition: (t) => world.tell(`${name}: ${t.from} → ${t.to} (${t.reason}) generation ${t.generation}`),
      holder: () => {},
      damped: (_, delayMs) => world.tell(`${name}: damped for ${delayMs.toFixed(1)} ms`),
      request: (r) => {
        if (r.result === 'timeout' || r.result === 'error') world.tell(`${name}: ${r.op} ${r.result}`)
      },
      paused: () => {},
      fault: (_, error) => {
        throw error
      },
    }
  }
}
