/** A leader must be alive: the lease follows the application, not the sidecar beside it. */
import type { Cancel, Clock, Instant } from '../clock/clock.ts'
import { longestElapsedMs } from '../clock/clock.ts'
import { redactUrl } from '../config/redact.ts'

/** From the end of one check to the next. */
export const CHECK_EVERY_MS = 2_000
/** The longest that one check may take. */
export const CHECK_TIMEOUT_MS = 2_000

/** Something that the application has to do to be taken for well. */
export interface Sign {
  /** Whether the application is well, as far as this sign tells. */
  readonly healthy: boolean
  /** Why it is not, for people. */
  readonly complaint: string
  stop(): void
}

/**
 * Asks a URL. Not well before it answered once, well from then on, and not well again after so many failures in a
 * row. A failure is any status outside 200 to 299, or no answer in time.
 */
export class HealthCheck implements Sign {
  readonly #url: string
  readonly #failuresMost: number
  readonly #clock: Clock
  readonly #changed: () => void
  #failures: number
  #last = 'has not answered yet'
  #stopped = false
  #cancel: Cancel | null = null

  constructor(url: string, failuresMost: number, clock: Clock, changed: () => void) {
    this.#url = url
    this.#failuresMost = failuresMost
    this.#clock = clock
    this.#changed = changed
    this.#failures = failuresMost
    void this.#check()
  }

  get healthy(): boolean {
    return this.#failures < this.#failuresMost
  }

  get complaint(): string {
    return `the health check ${redactUrl(this.#url)} ${this.#last}`
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  async #check(): Promise<void> {
    const well = await this.#ask()
    if (this.#stopped) return
    const before = this.healthy
    this.#failures = well ? 0 : Math.min(this.#failures + 1, this.#failuresMost)
    if (before !== this.healthy) this.#changed()
    this.#cancel = this.#clock.after(CHECK_EVERY_MS, () => void this.#check())
  }

  async #ask(): Promise<boolean> {
    const controller = new AbortController()
    const cancel = this.#clock.after(CHECK_TIMEOUT_MS, () => controller.abort())
    try {
      const { url, headers } = withLogin(this.#url)
      const response = await fetch(url, { headers, signal: controller.signal, redirect: 'manual' })
      await response.body?.cancel()
      this.#last = `answers ${response.status}`
      return response.ok
    } catch (error) {
      this.#last = `does not answer (${reasonOf(error)})`
      return false
    } finally {
      cancel()
    }
  }
}

/** A login in the URL becomes the header that it stands for: `fetch` takes none. */
function withLogin(text: string): { readonly url: URL; readonly headers: Record<string, string> } {
  const url = new URL(text)
  if (url.username === '' && url.password === '') return { url, headers: {} }
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = ''
  url.password = ''
  return { url, headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}` } }
}

/** What `fetch` hides behind "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'AbortError') return `not within ${CHECK_TIMEOUT_MS} ms`
  const { cause } = error
  return cause instanceof Error ? cause.message : error.message
}

/** The application has to ask `/v1/leadership` or `/leader` at least so often. */
export class RequiredPolls implements Sign {
  readonly #requiredMs: number
  readonly #clock: Clock
  #lastAt: Instant

  constructor(requiredMs: number, clock: Clock) {
    this.#requiredMs = requiredMs
    this.#clock = clock
    this.#lastAt = clock.now()
  }

  /** The application has asked. */
  polled(): void {
    this.#lastAt = this.#clock.now()
  }

  get complaint(): string {
    return `the application has not asked for ${this.#requiredMs} ms`
  }

  get healthy(): boolean {
    return longestElapsedMs(this.#lastAt, this.#clock.now()) < this.#requiredMs
  }

  stop(): void {}
}
