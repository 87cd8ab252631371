/**
 * The driver of one election: reads the clock, steps the machine, carries its commands out.
 *
 * It decides nothing. Every question is answered by stepping to the present instant first, so that an answer
 * never depends on whether a timer has fired.
 */
import type { Cancel, Clock, Instant } from '../clock/clock.ts'
import { answer, type Context, describe, leadsForMs } from './describe.ts'
import { History } from './history.ts'
import { HistoryKeeper, type Replies } from './history-keeper.ts'
import { type LeaseStore, StoreError, type Watch } from './lease-store.ts'
import {
  type Command,
  type Event,
  heldTenure,
  initialMachine,
  type Machine,
  type Settings,
} from './machine.ts'
import type { Monitor } from './monitor.ts'
import { type Outcome, Requests } from './requests.ts'
import { nextTickMs } from './schedule.ts'
import type { Answer, Drained, HistoryView, Resigned, Status, Transition } from './status.ts'
import { type Step, step, stepAfterFault } from './step.ts'

export type TransitionListener = (transition: Transition, status: Status) => void

export interface ElectionParts {
  readonly settings: Settings
  readonly store: LeaseStore
  readonly clock: Clock
  readonly monitor: Monitor
  /** Told when the store's history fails, which concerns no lease. */
  readonly historyFailed?: (election: string, error: StoreError) => void
}

export class Election {
  readonly #parts: ElectionParts
  readonly #requests: Requests
  readonly #history: History
  /** Null where the store keeps no history. */
  readonly #keeper: HistoryKeeper | null
  readonly #listeners = new Set<TransitionListener>()
  readonly #stopped = Promise.withResolvers<void>()
  /** Events that came while another was being dispatched, by a listener say: taken in order. */
  readonly #events: Event[] = []
  #machine: Machine
  #dispatching = false
  #cancelTimer: Cancel | null = null
  #watch: Watch | null = null
  #changes = 0
  #sinceMs: number
  /** Of the last tenure, announced or not. */
  #replies: Replies = { grant: null, releasedMs: null }

  constructor(parts: ElectionParts) {
    const { settings, store, clock } = parts
    this.#parts = parts
    this.#machine = initialMachine(settings, clock.now())
    this.#sinceMs = clock.date()
    this.#history = new History(settings.identity)
    this.#keeper = keeperOf(parts, this.#history)
    const { election, identity, session, timing } = settings
    const candidate = { identity, session }
    this.#requests = new Requests({ store, clock, candidate, election, ttlMs: timing.ttlMs }, (outcome) =>
      this.#ended(outcome),
    )
  }

  get name(): string {
    return this.#parts.settings.election
  }

  /** Begins to take part, or to watch. */
  start(): void {
    const { store, settings } = this.#parts
    this.#watch = store.watch?.(settings.election, (hint) => this.#dispatch({ type: 'woken', hint })) ?? null
    this.tick()
  }

  /** Steps to the present instant. Harmless at any time. */
  tick(): void {
    this.#dispatch({ type: 'tick' })
  }

  /** The election now. Promises nothing. */
  status(): Status {
    const now = this.#settle()
    return describe(this.#machine, now, this.#context())
  }

  /** The election now; while leading, with a promise that is remembered and kept. */
  answer(): Answer {
    const now = this.#settle()
    const { machine, answer: told } = answer(this.#machine, now, this.#context())
    this.#machine = machine
    return told
  }

  /** Steps down, and does not stand for `holdOffMs` (null: the default). Also a follower holds off. */
  resign(holdOffMs: number | null): Resigned {
    this.#settle()
    const { phase, settings } = this.#machine
    if (settings.observer) return { accepted: false, message: 'an observer holds nothing and never stands' }
    if (phase.state === 'stopped') return { accepted: false, message: 'this election is stopped' }
    const generation = heldTenure(phase)?.generation ?? null
    this.#dispatch({ type: 'resign', holdOffMs })
    return { accepted: true, generation }
  }

  /** The application's work under `generation` has stopped: release now. Refused for any other generation. */
  drained(generation: number): Drained {
    this.#settle()
    const held = heldTenure(this.#machine.phase)
    if (held?.generation !== generation) return { accepted: false, current: held?.generation ?? null }
    this.#dispatch({ type: 'drained', generation })
    return { accepted: true, generation }
  }

  setHealthy(healthy: boolean): void {
    if (this.#machine.healthy !== healthy) this.#dispatch({ type: 'health', healthy })
  }

  /** Drains, keeps its promises, releases, and stops. Resolves when stopped, and that is written down if it can be. */
  async stop(): Promise<void> {
    this.#dispatch({ type: 'stop' })
    await this.#stopped.promise
    await this.#keeper?.finish()
  }

  /** Stops at once and releases nothing. */
  abandon(): void {
    this.#dispatch({ type: 'abandon' })
  }

  /** The last tenures, as the store has them, or else as this process saw them. Takes a second at most; never fails. */
  async history(): Promise<HistoryView> {
    this.#settle()
    if (this.#keeper !== null) return this.#keeper.view()
    return { source: 'memory', error: null, tenures: this.#history.tenures }
  }

  /** Calls `listen` at every transition, in order, until the returned function is called. */
  onTransition(listen: TransitionListener): () => void {
    this.#listeners.add(listen)
    return () => this.#listeners.delete(listen)
  }

  /** Returns the present instant, once whatever the clocks have ended by then is over in the machine, too. */
  #settle(): Instant {
    const now = this.#parts.clock.now()
    const { state } = this.#machine.phase
    const due =
      state === 'leading'
        ? leadsForMs(this.#machine, now) <= 0
        : state === 'draining' && nextTickMs(this.#machine, now) === 0
    if (!due) return now
    this.tick()
    return this.#parts.clock.now()
  }

  #dispatch(event: Event): void {
    this.#events.push(event)
    if (this.#dispatching) return
    this.#dispatching = true
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#take(next)
    } finally {
      this.#dispatching = false
    }
    this.#schedule()
  }

  /** A defect of ours ends the tenure; it never ends the election. */
  #take(event: Event): void {
    const { clock, monitor } = this.#parts
    const input = { now: clock.now(), random: clock.random() }
    try {
      this.#apply(step(this.#machine, event, input), input.now)
    } catch (error) {
      monitor.fault(this.name, error)
      this.#apply(stepAfterFault(this.#machine, input), input.now)
    }
  }

  #apply(next: Step, now: Instant): void {
    const before = this.#machine
    this.#machine = next.machine
    this.#history.note(
      before,
      next.machine,
      this.#replies.grant?.leaderlessMs ?? null,
      this.#parts.clock.date(),
    )
    for (const command of next.commands) this.#perform(command, now)
    this.#keeper?.note(before, next.machine, this.#replies)
    // A transition has told of the holder as well.
    if (!next.commands.some(({ type }) => type === 'transition')) this.#noteHolder(before)
    if (next.machine.phase.state === 'stopped') this.#close()
  }

  #perform(command: Command, now: Instant): void {
    switch (command.type) {
      case 'transition':
        this.#sinceMs = this.#parts.clock.date()
        this.#publish(command, (transition, status) => this.#parts.monitor.transition(transition, status))
        return
      case 'abort':
        this.#requests.abort()
        return
      case 'damped':
        this.#parts.monitor.damped(this.name, command.delayMs)
        return
      default:
        this.#requests.send(command, now)
    }
  }

  /** Readers also want to hear of it when the store names another holder. */
  #noteHolder(before: Machine): void {
    const { seen, phase } = this.#machine
    if (phase.state === 'stopped') return
    if (before.seen?.holder === seen?.holder && before.seen?.generation === seen?.generation) return
    const { state, reason } = phase
    const generation = heldTenure(phase)?.generation ?? null
    this.#publish({ from: state, to: state, reason, generation }, (_, status) =>
      this.#parts.monitor.holder(status),
    )
  }

  #publish(change: Omit<Transition, 'revision'>, tell: TransitionListener): void {
    this.#changes++
    const context = this.#context()
    const transition = { ...change, revision: context.revision }
    const status = describe(this.#machine, this.#parts.clock.now(), context)
    for (const listen of [tell, ...this.#listeners]) {
      try {
        listen(transition, status)
      } catch (error) {
        this.#parts.monitor.fault(this.name, error)
      }
    }
  }

  #ended(outcome: Outcome): void {
    const { event, op, result, error, durationMs } = outcome
    const granted = event.type === 'acquired' && event.outcome.kind === 'granted' ? event.outcome : null
    if (granted !== null) this.#replies = { grant: granted, releasedMs: null }
    if (event.type === 'released' && event.outcome.kind === 'released') {
      this.#replies = { ...this.#replies, releasedMs: event.outcome.atMs ?? null }
    }
    const renewed = op === 'renew' && result === 'granted'
    const slackMs = renewed ? Math.max(0, leadsForMs(this.#machine, this.#parts.clock.now())) : null
    this.#dispatch(event)
    const leaderlessMs = granted?.leaderlessMs ?? null
    const election = this.name
    const told = error ?? (result === 'contended' ? this.#standingFault() : null)
    this.#parts.monitor.request({ election, op, result, error: told, durationMs, slackMs, leaderlessMs })
  }

  /** What the machine holds against the store, although it answers. */
  #standingFault(): StoreError | null {
    const { error } = this.#machine.store
    return error === null ? null : new StoreError(error.kind, error.message, { cause: null })
  }

  #schedule(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const { clock } = this.#parts
    const delayMs = nextTickMs(this.#machine, clock.now())
    if (delayMs !== null) this.#cancelTimer = clock.after(Math.ceil(delayMs), () => this.tick())
  }

  #close(): void {
    this.#watch?.close()
    this.#watch = null
    this.#stopped.resolve()
  }

  #context(): Context {
    const { settings, store } = this.#parts
    const revision = `${settings.session.slice(0, 8)}-${this.#changes}`
    return { revision, sinceMs: this.#sinceMs, store: { kind: store.kind, location: store.location } }
  }
}

function keeperOf(parts: ElectionParts, memory: History): HistoryKeeper | null {
  const { store, clock, settings, historyFailed } = parts
  const { election, identity, session } = settings
  if (store.history === undefined) return null
  const failed = (error: StoreError) => historyFailed?.(election, error)
  return new HistoryKeeper({ store: store.history, clock, election, identity, session, memory, failed })
}
