/** Waiting, while this instance does not lead, until it is worth asking again. */
import { shortestElapsedMs } from '../clock/clock.ts'
import { isFields, type Unled } from './answer.ts'
import { ask, type Reply } from './ask.ts'
import type { Settings } from './options.ts'
import { pause } from './waiting.ts'

const POLL_WAIT_MS = 30_000
/** A poll may be answered this much after its time. */
const POLL_GRACE_MS = 1_000
/** A poll that comes back earlier than this, and brings nothing new, is a failure. */
const POLL_LEAST_MS = 1_000
/** Between two questions, so that news in a flood never makes a busy loop. */
const GAP_LEAST_MS = 50
/** After failures in a row: doubles from the least to the most, and a random part of up to a half is left out. */
const BACKOFF_LEAST_MS = 100
const BACKOFF_MOST_MS = 2_000

export class News {
  readonly #settings: Settings
  readonly #signal: AbortSignal | undefined
  #failures = 0

  constructor(settings: Settings, signal: AbortSignal | undefined) {
    this.#settings = settings
    this.#signal = signal
  }

  /** Returns when a question may bring something new. What a push says is not heeded: it may be late by any time. */
  async after({ revision }: Unled): Promise<void> {
    if (revision === null) return this.#backOff()
    const { clock } = this.#settings
    const from = clock.now()
    const reply = await this.#poll(revision)
    if (this.#signal?.aborted) return
    const tookMs = shortestElapsedMs(from, clock.now())
    const told = revisionOf(reply)
    if (told === null || (told === revision && tookMs < POLL_LEAST_MS)) return this.#backOff()
    this.#failures = 0
    if (tookMs < GAP_LEAST_MS) await pause(clock, GAP_LEAST_MS - tookMs, this.#signal)
  }

  #poll(revision: string): Promise<Reply> {
    const { election } = this.#settings
    return ask(this.#settings, {
      path: '/v1/leadership',
      query: { ...(election !== null && { election }), after: revision, wait: `${POLL_WAIT_MS}ms` },
      timeoutMs: POLL_WAIT_MS + POLL_GRACE_MS,
      signal: this.#signal,
    })
  }

  async #backOff(): Promise<void> {
    const { clock } = this.#settings
    const mostMs = Math.min(BACKOFF_MOST_MS, BACKOFF_LEAST_MS * 2 ** this.#failures)
    if (mostMs < BACKOFF_MOST_MS) this.#failures++
    await pause(clock, mostMs * (1 - clock.random() / 2), this.#signal)
  }
}

function revisionOf(reply: Reply): string | null {
  if (!reply.answered || reply.status !== 200 || !isFields(reply.body)) return null
  return typeof reply.body.revision === 'string' ? reply.body.revision : null
}
