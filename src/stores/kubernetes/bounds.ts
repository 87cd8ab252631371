/** The bounds of one request to the API server: it ends when its caller gives up, or a little after its time. */
import { type Cancel, type Clock, type Instant, later, remainingMs } from '../../clock/clock.ts'
import { type Attempt, StoreError } from '../store.ts'

/** How much longer a request may wait by our own timer: the caller knows better why it gave up. */
const GRACE_MS = 200

/** Must be closed. */
export class Bounds {
  readonly #clock: Clock
  readonly #attempt: Attempt
  readonly #until: Instant
  readonly #controller = new AbortController()
  readonly #cancel: Cancel

  constructor(clock: Clock, attempt: Attempt) {
    this.#clock = clock
    this.#attempt = attempt
    this.#until = later(clock.now(), attempt.timeoutMs)
    this.#cancel = clock.after(attempt.timeoutMs + GRACE_MS, this.#expire)
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

  /** Ends the request now. */
  abort(): void {
    this.#expire()
  }

  close(): void {
    this.#cancel()
    this.#attempt.signal.removeEventListener('abort', this.#expire)
  }

  readonly #expire = (): void => {
    this.#controller.abort(
      new StoreError(
        'unavailable',
        `Kubernetes: no answer within the ${Math.round(this.#attempt.timeoutMs)} ms of the request, or until it was given up: whether it took effect is unknown`,
        { cause: this.#attempt.signal.reason ?? null },
      ),
    )
  }
}

/** Settles as `work` does, or rejects with the signal's reason at once when that aborts. */
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
