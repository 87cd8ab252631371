/** Looks at several sidecars at once, all the time, and proves or disproves that hands change one after another. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import type { SidecarProcess, Timed } from './sidecar.ts'

/** From an answer to the next question to the same sidecar. */
const PAUSE_MS = 10
/** A frozen process takes the question and does not answer. */
const ASK_MOST_MS = 2_000
const WAIT_MOST_MS = 30_000

/** Who answered, and what. */
export interface Sighting extends Timed {
  readonly by: SidecarProcess
}

/** The time for which a tenure was proven: from the first answer that came to the end of the last promise. */
interface Proven {
  readonly generation: number
  readonly who: string
  readonly fromMs: number
  readonly untilMs: number
}

interface Waiter {
  readonly takes: (seen: Sighting) => boolean
  readonly resolve: (seen: Sighting) => void
}

/**
 * A tenure is unbroken: between its first answer "leading" that was read and the last instant promised to whoever
 * asked, its holder leads. So no two tenures may be proven for one instant. That needs no clock but ours.
 */
export class Watcher {
  /** Answers that said "leading". */
  readonly leading: Sighting[] = []
  /** How many answers were looked at. */
  answers = 0
  readonly #election: string
  readonly #waived = new Map<number, number>()
  readonly #waiters = new Set<Waiter>()
  readonly #rounds: Promise<void>[] = []
  #stopped = false

  constructor(election: string) {
    this.#election = election
  }

  /** Asks this one, too, until it ends. */
  add(sidecar: SidecarProcess): void {
    this.#rounds.push(this.#watch(sidecar))
  }

  /** The application said "drained" under this generation then: what was promised under it binds no more. */
  waive(generation: number, atMs: number): void {
    this.#waived.set(generation, atMs)
  }

  /** The first answer "leading" from now on that `takes` accepts. */
  next(takes: (seen: Sighting) => boolean, mostMs = WAIT_MOST_MS): Promise<Sighting> {
    const { promise, resolve, reject } = Promise.withResolvers<Sighting>()
    const timer = setTimeout(() => {
      this.#waiters.delete(waiter)
      reject(new Error(`nobody led as awaited within ${mostMs} ms; ${this.story()}`))
    }, mostMs)
    const waiter = {
      takes,
      resolve: (seen: Sighting) => {
        clearTimeout(timer)
        resolve(seen)
      },
    }
    this.#waiters.add(waiter)
    return promise
  }

  /** The first answer under a generation above this one. */
  above(generation: number, mostMs?: number): Promise<Sighting> {
    return this.next(({ answer }) => (answer.generation ?? 0) > generation, mostMs)
  }

  /** Every tenure that was seen, by generation. */
  get tenures(): readonly Proven[] {
    const found = new Map<string, Proven>()
    for (const seen of this.leading) {
      const { generation, session } = seen.answer
      const tenure = `${generation} ${session}`
      found.set(tenure, widened(found.get(tenure), seen, this.#waived))
    }
    return [...found.values()].sort((a, b) => a.generation - b.generation)
  }

  /** What was seen, for whoever has to understand a failure. */
  story(): string {
    const tenures = this.tenures.map(
      ({ who, generation, fromMs, untilMs }) =>
        `${who} under ${generation} from ${fromMs.toFixed(1)} to ${untilMs.toFixed(1)} ms`,
    )
    return `seen in ${this.answers} answers: ${tenures.join('; ') || 'nobody'}`
  }

  /** Fails when two tenures were proven for one instant. */
  check(): void {
    const { tenures } = this
    for (const [i, tenure] of tenures.entries()) {
      const earlier = tenures[i - 1]
      if (earlier === undefined) continue
      const both = `${earlier.who} and ${tenure.who}`
      assert.ok(earlier.generation < tenure.generation, `${both} led under one generation; ${this.story()}`)
      const togetherMs = earlier.untilMs - tenure.fromMs
      assert.ok(togetherMs <= 0, `${both} led at once for ${togetherMs.toFixed(1)} ms; ${this.story()}`)
    }
  }

  /** Looks no more, and fails when it saw what must not be, or looked at nothing. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#rounds)
    assert.ok(this.answers > 0, 'the watcher saw nothing')
    this.check()
  }

  async #watch(sidecar: SidecarProcess): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!this.#stopped && !sidecar.ended) {
      const timed = await sidecar.timed({ timeoutMs: ASK_MOST_MS, agent, election: this.#election })
      if (timed !== null) this.#take({ ...timed, by: sidecar })
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    agent.destroy()
  }

  #take(seen: Sighting): void {
    this.answers++
    if (!seen.answer.leading) return
    this.leading.push(seen)
    for (const waiter of [...this.#waiters]) {
      if (!waiter.takes(seen)) continue
      this.#waiters.delete(waiter)
      waiter.resolve(seen)
    }
  }
}

function widened(before: Proven | undefined, seen: Sighting, waived: ReadonlyMap<number, number>): Proven {
  const { by, answer, sentMs, answeredMs } = seen
  const { generation, validForMs } = answer
  assert.ok(generation !== null && validForMs !== null && validForMs > 0, JSON.stringify(answer))
  const untilMs = Math.min(sentMs + validForMs, waived.get(generation) ?? Number.POSITIVE_INFINITY)
  return {
    generation,
    who: by.identity,
    fromMs: Math.min(answeredMs, before?.fromMs ?? answeredMs),
    untilMs: Math.max(untilMs, before?.untilMs ?? untilMs),
  }
}
