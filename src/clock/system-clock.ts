import { randomUUID } from 'node:crypto'
import { bootClock, bootClockId } from './boot-clock.ts'
import type { Cancel, Clock, Instant } from './clock.ts'

/** `setTimeout` fires at once for anything longer. */
const TIMER_MOST_MS = 2 ** 31 - 1
/** A reading of the boot clock serves for this long, as long as the other clocks agree that nothing happened. */
const BOOT_REUSED_MS = 50
/** How far the wall and the steady clock may part within that time; the wall clock counts whole milliseconds. */
const CLOCKS_PART_MS = 5

/**
 * All clocks of one process, read together.
 *
 * The boot clock is a file, and costs as much as a whole HTTP answer. It differs from the steady clock only by
 * time spent suspended, which the wall clock counts as well: while those two have moved together since the last
 * reading of the file, there was none, and the steady clock continues that reading. To be misled, a machine would
 * have to be suspended and have its wall clock set back by the same span, to 5 ms, within the same 50 ms.
 */
class Clocks {
  readonly #readBootMs = bootClock()
  #bootMs = this.#readBootMs()
  #steadyAtBoot = performance.now()
  #dateAtBoot = Date.now()
  #date = this.#dateAtBoot
  #wallForwardMs = 0

  read(): Instant {
    const steadyMs = performance.now()
    const date = Date.now()
    if (date > this.#date) this.#wallForwardMs += date - this.#date
    this.#date = date
    return { steadyMs, bootMs: this.#boot(steadyMs, date), wallMs: this.#wallForwardMs }
  }

  #boot(steadyMs: number, date: number): number {
    const steadyMoved = steadyMs - this.#steadyAtBoot
    const apart = Math.abs(date - this.#dateAtBoot - steadyMoved)
    if (steadyMoved < BOOT_REUSED_MS && apart < CLOCKS_PART_MS) return this.#bootMs + steadyMoved
    // The file counts in steps of 10 ms: what was continued from it may already be further.
    this.#bootMs = Math.max(this.#readBootMs(), this.#bootMs + steadyMoved)
    this.#steadyAtBoot = steadyMs
    this.#dateAtBoot = date
    return this.#bootMs
  }
}

/** The machine's own clocks. The only place that reads them. */
export function systemClock(): Clock {
  const clocks = new Clocks()
  return {
    bootClockId: bootClockId(clocks.read().bootMs, sinceBootMs(), randomUUID()),
    now: () => clocks.read(),
    date: () => Date.now(),
    after: (delayMs, fire): Cancel => {
      const timer = setTimeout(fire, Math.min(Math.max(delayMs, 0), TIMER_MOST_MS))
      return () => clearTimeout(timer)
    },
    random: () => Math.random(),
    uuid: () => randomUUID(),
  }
}

let shared: Clock | null = null

/** One for the whole process, for libraries: each keeps a file open, and readings of two must not be compared. */
export function sharedClock(): Clock {
  shared ??= systemClock()
  return shared
}

/** The monotonic clock of the machine, in milliseconds; `performance.now()` counts from the process start. */
function sinceBootMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
