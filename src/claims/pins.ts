import type { Claim, Pin } from './claim.ts'
import { DueQueue } from './due-queue.ts'

/** The pins of a book, by their tokens. */
export class Pins {
  readonly #pins = new Map<string, Pin>()
  readonly #due = new DueQueue<Pin>()

  get size(): number {
    return this.#pins.size
  }

  all(): IterableIterator<Pin> {
    return this.#pins.values()
  }

  find(token: string): Pin | undefined {
    return this.#pins.get(token)
  }

  add(pin: Pin): void {
    this.#pins.set(pin.token, pin)
    pin.claim.pins.add(pin)
    if (pin.untilMs === null) return
    this.#due.add(pin.untilMs, pin)
    this.#due.sweep(this.#pins.size, ({ token }) => this.#pins.has(token))
  }

  remove(pin: Pin): void {
    this.#pins.delete(pin.token)
    pin.claim.pins.delete(pin)
  }

  /** Removes the pins whose time is over; returns the claims that they were on. */
  reap(nowMs: number): readonly Claim[] {
    const claims = new Set<Claim>()
    for (let pin = this.#due.take(nowMs); pin !== undefined; pin = this.#due.take(nowMs)) {
      if (!this.#pins.has(pin.token)) continue
      this.remove(pin)
      claims.add(pin.claim)
    }
    return [...claims]
  }
}
