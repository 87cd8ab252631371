import { type Cancel, type Clock, type Instant, longestElapsedMs } from './clock.ts'

/** How often the pulse beats. */
export const PULSE_MS = 250
/** A beat that comes this late, by any clock, is a pause: the process, or a clock, stood still. */
export const PAUSE_LEAST_MS = 250

/** Beats as long as the event loop turns, and notices when it did not. Decides nothing. */
export class Pulse {
  readonly #clock: Clock
  readonly #beat: () => void
  readonly #paused: (pauseMs: number) => void
  #lastAt: Instant
  #cancel: Cancel | null = null

  /** `beat` is called at each beat, `paused` before it when the beat came late, with about how late. */
  constructor(clock: Clock, beat: () => void, paused: (pauseMs: number) => void) {
    this.#clock = clock
    this.#beat = beat
    this.#paused = paused
    this.#lastAt = clock.now()
  }

  start(): void {
    this.#lastAt = this.#clock.now()
    this.#next()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = null
  }

  /** Time since the last beat. */
  get silentMs(): number {
    return longestElapsedMs(this.#lastAt, this.#clock.now())
  }

  #next(): void {
    this.#cancel = this.#clock.after(PULSE_MS, () => {
      const lateMs = this.silentMs - PULSE_MS
      this.#lastAt = this.#clock.now()
      this.#next()
      if (lateMs > PAUSE_LEAST_MS) this.#paused(lateMs)
      this.#beat()
    })
  }
}
