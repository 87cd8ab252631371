/** A clock that is moved by hand, and that several processes read: a number in a file. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import type { Cancel, Clock, Instant } from '../../clock/clock.ts'

const BYTES = Float64Array.BYTES_PER_ELEMENT
/** The clock of a machine that has been up for a while. */
const START_MS = 1_000_000

/** The hand. */
export class ClockMover {
  readonly #file: number
  #ms = START_MS

  constructor(path: string) {
    this.#file = openSync(path, 'w')
    this.advance(0)
  }

  advance(ms: number): void {
    this.#ms += ms
    writeSync(this.#file, new Float64Array([this.#ms]), 0, BYTES, 0)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Reads the file at every look: whoever was stopped sees the moved time as soon as it goes on. */
export class HandClock implements Clock {
  readonly bootClockId = 'tenure-demo'
  readonly #file: number
  readonly #real: Clock
  readonly #reading = new Float64Array(1)

  /** `real` gives what is no time: timers, random numbers and UUIDs. */
  constructor(path: string, real: Clock) {
    this.#file = openSync(path, 'r')
    this.#real = real
  }

  now(): Instant {
    readSync(this.#file, this.#reading, 0, BYTES, 0)
    const [ms = START_MS] = this.#reading
    return { steadyMs: ms, bootMs: ms, wallMs: ms }
  }

  date(): number {
    return this.now().wallMs
  }

  after(delayMs: number, fire: () => void): Cancel {
    return this.#real.after(delayMs, fire)
  }

  random(): number {
    return this.#real.random()
  }

  uuid(): string {
    return this.#real.uuid()
  }
}
