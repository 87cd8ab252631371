import type { Cancel, Clock, Instant } from '../../src/clock/clock.ts'

/** An arbitrary but plausible day, so that a wall clock mistaken for another clock is far off. */
const DATE_START_MS = Date.UTC(2026, 0, 1)
const BOOT_START_MS = 5_000_000

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
}

/** How far each clock is moved. Steady and boot never go back; the wall may. */
export interface Movement {
  readonly steadyMs: number
  readonly bootMs: number
  readonly wallMs: number
}

/** One machine: its clocks and the timers that wait on it. Every process on it has a `ManualClock` of its own. */
class Machine {
  steadyMs = 0
  bootMs: number
  dateMs: number
  wallForwardMs = 0
  readonly timers = new Set<Timer>()
  #order = 0

  constructor(bootMs: number, dateMs: number) {
    this.bootMs = bootMs
    this.dateMs = dateMs
  }

  add(delayMs: number, fire: () => void): Timer {
    const timer = { dueMs: this.steadyMs + Math.max(0, delayMs), order: this.#order++, fire }
    this.timers.add(timer)
    return timer
  }

  shift(by: Movement): void {
    if (by.steadyMs < 0 || by.bootMs < 0) throw new RangeError('steady and boot clocks never go back')
    this.steadyMs += by.steadyMs
    this.bootMs += by.bootMs
    this.dateMs += by.wallMs
    this.wallForwardMs += Math.max(0, by.wallMs)
  }

  /** The earliest timer due at or before `untilMs`, taken off the list. */
  takeDue(untilMs: number): Timer | null {
    let first: Timer | null = null
    for (const timer of this.timers) {
      if (timer.dueMs > untilMs) continue
      const earlier =
        first === null ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order)
      if (earlier) first = timer
    }
    if (first !== null) this.timers.delete(first)
    return first
  }
}

export interface ManualClockOptions {
  /** Of the random numbers and the UUIDs; equal seeds give equal sequences. Default 1. */
  readonly seed?: number
  readonly bootClockId?: string
  /** Where the boot clock stands. Default: somewhere well above zero. */
  readonly bootMs?: number
  /** Where the wall clock stands, milliseconds since 1970. */
  readonly dateMs?: number
}

/**
 * A clock that moves only when a test says so.
 *
 * `new ManualClock()` is a machine of its own, with one process. `sibling()` is another process on the same machine:
 * it shares the time, the boot clock and the timers' queue, but, as in life, its steady and wall clocks count from
 * its own start, so that readings of two processes that must not be compared do not happen to be comparable.
 */
export class ManualClock implements Clock {
  bootClockId: string
  readonly #machine: Machine
  readonly #steadyZeroMs: number
  readonly #wallZeroMs: number
  #randomState: number

  constructor(options: ManualClockOptions = {}, machine?: Machine) {
    this.#machine = machine ?? new Machine(options.bootMs ?? BOOT_START_MS, options.dateMs ?? DATE_START_MS)
    this.#steadyZeroMs = this.#machine.steadyMs
    this.#wallZeroMs = this.#machine.wallForwardMs
    this.#randomState = options.seed ?? 1
    this.bootClockId = options.bootClockId ?? 'manual-clock'
  }

  /** Another process on the same machine. Moving either moves both. */
  sibling(options: Pick<ManualClockOptions, 'seed' | 'bootClockId'> = {}): ManualClock {
    return new ManualClock(
      { seed: options.seed ?? this.#randomState + 1, bootClockId: options.bootClockId ?? this.bootClockId },
      this.#machine,
    )
  }

  now(): Instant {
    const { steadyMs, bootMs, wallForwardMs } = this.#machine
    return {
      steadyMs: steadyMs - this.#steadyZeroMs,
      bootMs,
      wallMs: wallForwardMs - this.#wallZeroMs,
    }
  }

  date(): number {
    return this.#machine.dateMs
  }

  after(delayMs: number, fire: () => void): Cancel {
    const timer = this.#machine.add(delayMs, fire)
    return () => {
      this.#machine.timers.delete(timer)
    }
  }

  random(): number {
    // mulberry32
    this.#randomState = (this.#randomState + 0x6d2b79f5) | 0
    let t = this.#randomState
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.random() * 16).toString(16))
    hex[12] = '4'
    hex[16] = '89ab'[Math.floor(this.random() * 4)] as string
    return hex.join('').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }

  /** Timers that wait, on the whole machine. */
  get timers(): number {
    return this.#machine.timers.size
  }

  /** Moves every clock by `ms` and fires the timers due by then, in order, each at its own time. */
  advance(ms: number): void {
    const untilMs = this.#machine.steadyMs + ms
    for (let timer = this.#machine.takeDue(untilMs); timer !== null; timer = this.#machine.takeDue(untilMs)) {
      this.#moveTo(timer.dueMs)
      timer.fire()
    }
    this.#moveTo(untilMs)
  }

  /**
   * Like `advance`, but lets promises and I/O that are ready run on before the first timer, after each, and at
   * the end.
   */
  async elapse(ms: number): Promise<void> {
    const untilMs = this.#machine.steadyMs + ms
    await settle()
    for (let timer = this.#machine.takeDue(untilMs); timer !== null; timer = this.#machine.takeDue(untilMs)) {
      this.#moveTo(timer.dueMs)
      timer.fire()
      await settle()
    }
    this.#moveTo(untilMs)
    await settle()
  }

  /** The machine was suspended: the boot and wall clocks went on, the steady clock and the timers stood still. */
  advanceSuspended(ms: number): void {
    this.move({ steadyMs: 0, bootMs: ms, wallMs: ms })
  }

  /** The process alone stood still, or the loop was busy: every clock moved, and no timer has fired yet. */
  advanceFrozen(ms: number): void {
    this.move({ steadyMs: ms, bootMs: ms, wallMs: ms })
  }

  /** Somebody set the wall clock, forward or back. */
  stepWall(ms: number): void {
    this.move({ steadyMs: 0, bootMs: 0, wallMs: ms })
  }

  /** Moves each clock by an amount of its own, as drift does. Fires nothing. */
  move(by: Movement): void {
    this.#machine.shift(by)
  }

  #moveTo(steadyMs: number): void {
    const ms = Math.max(0, steadyMs - this.#machine.steadyMs)
    this.#machine.shift({ steadyMs: ms, bootMs: ms, wallMs: ms })
  }
}

/** Turns of the event loop that a chain of promises, `nextTick`s and immediates may need. */
const SETTLE_TURNS = 4

/** Lets everything that is ready to run, run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < SETTLE_TURNS; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}
