/** A machine: its clocks drift and step, it freezes, it suspends. Its process reads the world only through it. */
import type { Cancel, Clock, Instant } from '../../src/clock/clock.ts'
import type { World } from './world.ts'

/** The grain of the clock that counts suspend. */
export const BOOT_GRAIN_MS = 10

/** Brings something to one process after `delayMs`; later if it stands still then, never if it died. */
export type Bring = (delayMs: number, happen: () => void) => void

export class Host {
  readonly name: string
  readonly #world: World
  /** Milliseconds that its clocks show for each true one. */
  readonly rate: number
  #readAtMs = 0
  #steadyMs: number
  #bootMs: number
  #wallMs = 0
  #frozen = false
  #suspended = false
  /** Goes up when the process dies: what was meant for an earlier process is lost. */
  #life = 0
  #pending: (() => void)[] = []

  constructor(name: string, world: World, rate: number) {
    this.name = name
    this.#world = world
    this.rate = rate
    this.#steadyMs = world.random.between(0, 1_000)
    this.#bootMs = world.random.between(1_000, 9_000_000)
  }

  get running(): boolean {
    return !this.#frozen && !this.#suspended
  }

  get frozen(): boolean {
    return this.#frozen
  }

  #advance(): void {
    const passedMs = (this.#world.nowMs - this.#readAtMs) * this.rate
    this.#readAtMs = this.#world.nowMs
    this.#bootMs += passedMs
    this.#wallMs += passedMs
    if (!this.#suspended) this.#steadyMs += passedMs
  }

  /** The process stands still; its clocks do not. */
  freeze(): void {
    this.#frozen = true
  }

  /** The whole machine stands still, and one of its clocks with it. */
  suspend(): void {
    this.#advance()
    this.#suspended = true
  }

  /** Goes on: whatever came meanwhile comes now, in any order. */
  resume(): void {
    this.#advance()
    this.#frozen = false
    this.#suspended = false
    const [first, ...rest] = this.#world.random.shuffle(this.#pending)
    this.#pending = []
    first?.()
    for (const happen of rest) this.#world.in(0, () => this.#deliver(happen))
  }

  /** The wall clock is set. A step back is not taken along, as in the real clock. */
  stepWall(ms: number): void {
    this.#advance()
    this.#wallMs += Math.max(0, ms)
  }

  /** The process dies: nothing planned for it happens. */
  kill(): void {
    this.#life++
    this.#pending = []
    this.#advance()
    this.#frozen = false
    this.#suspended = false
  }

  #deliver(happen: () => void): void {
    if (this.running) happen()
    else this.#pending.push(happen)
  }

  /** The process that lives now, as a scope: what is brought to it after its death is lost. */
  process(): Bring {
    const life = this.#life
    return (delayMs, happen) => this.#bring(life, delayMs, happen)
  }

  #bring(life: number, delayMs: number, happen: () => void): void {
    const still = (): void => {
      if (life === this.#life) happen()
    }
    this.#world.in(delayMs, () => {
      if (life === this.#life) this.#deliver(still)
    })
  }

  /** The clocks as the process that lives now sees them. */
  clock(): Clock {
    const world = this.#world
    const bring = this.process()
    return {
      bootClockId: `boot-of-${this.name}`,
      now: (): Instant => {
        this.#advance()
        const bootMs = Math.floor(this.#bootMs / BOOT_GRAIN_MS) * BOOT_GRAIN_MS
        return { steadyMs: this.#steadyMs, bootMs, wallMs: this.#wallMs }
      },
      date: () => world.nowMs,
      after: (delayMs, fire) => this.#timer(bring, delayMs, fire),
      random: () => world.random.next(),
      uuid: () => world.random.uuid(),
    }
  }

  #timer(bring: Bring, delayMs: number, fire: () => void): Cancel {
    this.#advance()
    const dueMs = this.#steadyMs + delayMs
    let cancelled = false
    const arm = (waitMs: number): void => {
      const lateMs = this.#world.random.chance(0.05) ? this.#world.random.between(0, 30) : 0
      bring(waitMs / this.rate + lateMs, () => {
        if (cancelled) return
        this.#advance()
        const leftMs = dueMs - this.#steadyMs
        if (leftMs > 0.001) arm(leftMs)
        else fire()
      })
    }
    arm(delayMs)
    return () => {
      cancelled = true
    }
  }
}
