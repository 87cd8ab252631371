/** Carries out one store request at a time: with a bound, an abort, and exactly one end. */
import type { Cancel, Clock, Instant } from '../clock/clock.ts'
import { longestElapsedMs } from '../clock/clock.ts'
import { type Attempt, type Candidate, type LeaseStore, StoreError } from './lease-store.ts'
import type { Command, Event } from './machine.ts'
import type { Operation, Result } from './monitor.ts'
import { GENERATION_LIMIT } from './tenure.ts'

export type Request = Extract<Command, { timeoutMs: number }>

/** How a request ended: the event for the machine, and what to tell monitors. */
export interface Outcome {
  readonly event: Event
  readonly op: Operation
  readonly result: Result
  readonly error: StoreError | null
  readonly durationMs: number
}

interface Running {
  readonly command: Request
  readonly sentAt: Instant
  readonly controller: AbortController
  readonly cancelTimer: Cancel
}

export class Requests {
  readonly #store: LeaseStore
  readonly #clock: Clock
  readonly #candidate: Candidate
  readonly #election: string
  readonly #ttlMs: number
  readonly #ended: (outcome: Outcome) => void
  #running: Running | null = null

  constructor(
    about: { store: LeaseStore; clock: Clock; candidate: Candidate; election: string; ttlMs: number },
    ended: (outcome: Outcome) => void,
  ) {
    this.#store = about.store
    this.#clock = about.clock
    this.#candidate = about.candidate
    this.#election = about.election
    this.#ttlMs = about.ttlMs
    this.#ended = ended
  }

  /** Sends a request. `sentAt` was read before: the request never counts from later than that. */
  send(command: Request, sentAt: Instant): void {
    if (this.#running !== null) throw new Error('a request is under way already')
    const controller = new AbortController()
    const cancelTimer = this.#clock.after(command.timeoutMs, () => this.#timedOut(running))
    const running: Running = { command, sentAt, controller, cancelTimer }
    this.#running = running
    this.#perform(command, { timeoutMs: command.timeoutMs, signal: controller.signal }).then(
      (event) => this.#end(running, event, resultOf(event), null),
      (cause: unknown) => {
        const error = asStoreError(cause)
        this.#end(running, { type: 'failed', error }, 'error', error)
      },
    )
  }

  /** Gives up the request under way, if there is one. */
  abort(): void {
    const running = this.#running
    if (running !== null) this.#end(running, { type: 'failed', error: null }, 'aborted', null)
  }

  #timedOut(running: Running): void {
    const message = `no answer within ${Math.ceil(running.command.timeoutMs)} ms`
    const error = new StoreError('unavailable', message, { cause: null })
    this.#end(running, { type: 'failed', error }, 'timeout', error)
  }

  /** The first end counts. What comes later belongs to a request that was given up, and is not listened to. */
  #end(running: Running, event: Event, result: Result, error: StoreError | null): void {
    if (this.#running !== running) return
    this.#running = null
    running.cancelTimer()
    if (result === 'timeout' || result === 'aborted') running.controller.abort()
    const durationMs = longestElapsedMs(running.sentAt, this.#clock.now())
    this.#ended({ event, op: running.command.type, result, error, durationMs })
  }

  async #perform(command: Request, attempt: Attempt): Promise<Event> {
    switch (command.type) {
      case 'acquire': {
        const { above } = command
        const options = { ttlMs: this.#ttlMs, above }
        const outcome = await this.#store.acquire(this.#election, this.#candidate, options, attempt)
        if (outcome.kind === 'granted') assertGeneration(outcome.generation, above)
        return { type: 'acquired', outcome }
      }
      case 'renew':
        return { type: 'renewed', outcome: await this.#store.renew(command.tenure, this.#ttlMs, attempt) }
      case 'release':
        return { type: 'released', outcome: await this.#store.release(command.tenure, attempt) }
      case 'current':
        return { type: 'read', view: await this.#store.current(this.#election, attempt) }
    }
  }
}

/** A store that breaks its contract must not make anybody a leader. */
function assertGeneration(generation: number, above: number): void {
  if (Number.isSafeInteger(generation) && generation > above && generation < GENERATION_LIMIT) return
  throw new StoreError(
    'misconfigured',
    `the store granted generation ${generation}, which is not an integer above ${above} and below 2^53`,
    { cause: null },
  )
}

/** Anything that is no `StoreError` is a defect of a store, and says nothing about the outcome. */
export function asStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  return new StoreError('unavailable', message, { cause })
}

function resultOf(event: Event): Result {
  switch (event.type) {
    case 'acquired':
    case 'renewed':
    case 'released':
      return event.outcome.kind
    default:
      return 'read'
  }
}
