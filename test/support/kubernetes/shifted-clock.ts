import type { Cancel, Clock, Instant } from '../../../src/clock/clock.ts'
import { later } from '../../../src/clock/clock.ts'

/** A clock of the machine whose readings can be moved forward. Timers run in real time. */
export class ShiftedClock implements Clock {
  readonly #clock: Clock
  #forwardMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get bootClockId(): string {
    return this.#clock.bootClockId
  }

  /** Moves every reading from now on. */
  forward(ms: number): void {
    this.#forwardMs += ms
  }

  now(): Instant {
    return later(this.#clock.now(), this.#forwardMs)
  }

  date(): number {
    return this.#clock.date() + this.#forwardMs
  }

  after(delayMs: number, fire: () => void): Cancel {
    return this.#clock.after(delayMs, fire)
  }

  random(): number {
    return this.#clock.random()
  }

  uuid(): string {
    return this.#clock.uuid()
  }
}
