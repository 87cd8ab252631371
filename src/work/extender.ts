/** Keeps claims extended while their work runs. */
import type { Cancel, Clock } from '../clock/clock.ts'
import { sharedClock } from '../clock/system-clock.ts'
import type { Claimed, Outcome, Result } from './outcome.ts'

export interface ExtenderOptions {
  readonly clock?: Clock
  /** Hears that an extension failed as a whole. It is tried again at its next time. */
  readonly onError?: (error: unknown) => void
}

interface ExtenderSettings extends ExtenderOptions {
  readonly everyMs: number
}

type Extend = (items: readonly Claimed[]) => Promise<readonly Outcome[]>

/** Results after which asking again brings nothing. */
const FINAL: ReadonlySet<Result> = new Set(['lost', 'missing', 'ended'])

/**
 * Before an item is completed, drop it; at the end, stop. Both return once no extension is on its way any more, so
 * that none crosses the completion. What says that the work still counts is `apply`, never this.
 */
export class Extender {
  readonly #extend: Extend
  readonly #everyMs: number
  readonly #clock: Clock
  readonly #onError: ((error: unknown) => void) | null
  readonly #controllers = new Map<string, AbortController>()
  readonly #items = new Map<string, Claimed>()
  #cancel: Cancel = () => undefined
  #running: Promise<void> = Promise.resolve()

  constructor(extend: Extend, items: readonly Claimed[], settings: ExtenderSettings) {
    this.#extend = extend
    this.#everyMs = settings.everyMs
    this.#clock = settings.clock ?? sharedClock()
    this.#onError = settings.onError ?? null
    for (const item of items) {
      this.#items.set(item.token, item)
      this.#controllers.set(item.token, new AbortController())
    }
    this.#plan()
  }

  /** Aborted once the item gets no more time: somebody else has it, it is gone, or its lease or life has ended. */
  signalOf({ token }: Claimed): AbortSignal {
    const controller = this.#controllers.get(token)
    if (controller === undefined) throw new TypeError(`token ${token}: this extender was never given it`)
    return controller.signal
  }

  /** Stops extending one item, and waits for an extension that is on its way. */
  async drop({ token }: Claimed): Promise<void> {
    this.#items.delete(token)
    await this.#running
  }

  /** Stops extending, and waits for an extension that is on its way. */
  async stop(): Promise<void> {
    this.#items.clear()
    this.#cancel()
    await this.#running
  }

  #plan(): void {
    if (this.#items.size === 0) return
    this.#cancel = this.#clock.after(this.#everyMs, () => {
      this.#running = this.#round().finally(() => this.#plan())
    })
  }

  async #round(): Promise<void> {
    const items = [...this.#items.values()]
    if (items.length === 0) return
    try {
      for (const { item, result } of await this.#extend(items)) {
        if (!FINAL.has(result)) continue
        this.#items.delete(item.token)
        this.#controllers.get(item.token)?.abort(new Error(`no more time for key ${item.key}: ${result}`))
      }
    } catch (error) {
      this.#onError?.(error)
    }
  }
}
