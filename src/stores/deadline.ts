/** The bounds of one request, and how a wait ends with them. */
import { type Cancel, type Clock, type Instant, later, remainingMs } from '../clock/clock.ts'
import { type Attempt, StoreError } from './store.ts'

/**
 * How much longer than its attempt a request may wait by our own timer. The caller's signal should come first:
 * the caller knows why it gave up.
 */
const GRACE_MS = 200

/** Ends a request when its caller gives up, or a little after its time. Must be closed. */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #until: Instant
  readonly #clock: Clock
  readonly #cancel: Cancel
  readonly #attempt: Attempt

  readonly #service: string

  /** `service`: who is waited for, to name in the error. */
  constructor(clock: Clock, attempt: Attempt, service: string, graceMs = GRACE_MS) {
    this.#clock = clock
    this.#attempt = attempt
    this.#service = service
    this.#until = later(clock.now(), attempt.timeoutMs)
    this.#cancel = clock.after(attempt.timeoutMs + graceMs, this.#expire)
    if (attempt.signal.aborted) this.#expire()
    else attempt.signal.addEventListener('abort', this.#expire, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The whole of the attempt. */
  get timeoutMs(): number {
    return this.#attempt.timeoutMs
  }

  /** What is left of the attempt, at least 0. */
  get remainingMs(): number {
    return Math.max(0, remainingMs(this.#until, this.#clock.now()))
  }

  /** A deadline within this one, at most `timeoutMs` away. Must be closed too. */
  part(timeoutMs: number): Deadline {
    return new Deadline(
      this.#clock,
      { timeoutMs: Math.min(timeoutMs, this.remainingMs), signal: this.signal },
      this.#service,
      0,
    )
  }

  close(): void {
    this.#cancel()
    this.#attempt.signal.removeEventListener('abort', this.#expire)
  }

  /** Ends the request now. */
  abort(): void {
    this.#expire()
  }

  readonly #expire = (): void => {
    this.#controller.abort(
      new StoreError(
        'unavailable',
        `${this.#service}: no answer within the ${Math.round(this.#attempt.timeoutMs)} ms of the request, or until it was given up: whether it took effect is unknown`,
        { cause: this.#attempt.signal.reason ?? null },
      ),
    )
  }
}

/**
 * Settles as `work` does, or rejects with the signal's reason at once when that aborts; `work` then settles
 * unheard.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Waits, but no longer than until the signal aborts. Never rejects. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(delayMs, done)
    signal.addEventListener('abort', done)
  })
}
