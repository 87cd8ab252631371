/** True time, and what is to happen when. Everything else reads it through clocks that are wrong in their own way. */
import { Random } from './random.ts'

interface Planned {
  readonly at: number
  readonly order: number
  readonly happen: () => void
}

/** Microtask turns that let a settled promise run through the driver. */
const TURNS = 24

export class World {
  readonly random: Random
  readonly story: string[] = []
  #nowMs = 0
  #order = 0
  /** A binary heap by time, then by order of planning. */
  readonly #heap: Planned[] = []

  constructor(seed: number) {
    this.random = new Random(seed)
  }

  /** True time in milliseconds. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** Plans `happen` for `delayMs` from now. */
  in(delayMs: number, happen: () => void): void {
    this.#push({ at: this.#nowMs + Math.max(0, delayMs), order: this.#order++, happen })
  }

  /** Adds a line to the story that a failing seed prints. */
  tell(line: string): void {
    this.story.push(`${(this.#nowMs / 1_000).toFixed(4).padStart(10)}  ${line}`)
  }

  /** Lets the world go on until `untilMs`; `afterEach` is called once after every happening. */
  async run(untilMs: number, afterEach: () => void): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.at <= untilMs; next = this.#heap[0]) {
      this.#pop()
      this.#nowMs = next.at
      next.happen()
      for (let turn = 0; turn < TURNS; turn++) await null
      afterEach()
    }
    this.#nowMs = untilMs
  }

  #before(a: number, b: number): boolean {
    const x = this.#heap[a] as Planned
    const y = this.#heap[b] as Planned
    return x.at < y.at || (x.at === y.at && x.order < y.order)
  }

  #swap(a: number, b: number): void {
    const x = this.#heap[a] as Planned
    this.#heap[a] = this.#heap[b] as Planned
    this.#heap[b] = x
  }

  #push(planned: Planned): void {
    let at = this.#heap.push(planned) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#before(at, parent)) break
      this.#swap(at, parent)
      at = parent
    }
  }

  #pop(): void {
    const last = this.#heap.pop()
    if (this.#heap.length === 0 || last === undefined) return
    this.#heap[0] = last
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      if (left >= this.#heap.length) break
      const right = left + 1
      const least = right < this.#heap.length && this.#before(right, left) ? right : left
      if (!this.#before(least, at)) break
      this.#swap(at, least)
      at = least
    }
  }
}
