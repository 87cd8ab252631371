import { type Check, NotLeadingError } from './check.ts'
import { Drains } from './drains.ts'
import { HeldTenure } from './held.ts'
import { type Desk, liveOf, look } from './look.ts'
import { type ClientOptions, readOptions } from './options.ts'
import { type RunFunction, type RunOptions, type RunOutcome, run } from './run.ts'
import { watch } from './watch.ts'

/**
 * Asks the sidecar of this instance whether it may act. Make one for each election and process: the calls of
 * one client know of each other.
 */
export class TenureClient {
  readonly #desk: Desk

  /** @throws TypeError that names the option, the rule and the remedy. */
  constructor(options: ClientOptions = {}) {
    const settings = readOptions(options)
    this.#desk = { settings, drains: new Drains(settings) }
  }

  /** May this instance act now? Never rejects: no answer means no, and `reason` says which kind of no. */
  async check(): Promise<Check> {
    const seen = await look(this.#desk)
    if (!seen.leading) return seen.check
    return { leading: true, tenure: new HeldTenure(seen.fence, liveOf(this.#desk, seen)) }
  }

  /** @throws NotLeadingError that carries the check. */
  async assertLeading(): Promise<HeldTenure> {
    const check = await this.check()
    if (check.leading) return check.tenure
    throw new NotLeadingError(check)
  }

  /**
   * Waits until this instance leads, calls `fn` once, and keeps its tenure valid until it has settled; then
   * declares the work of *this instance* drained, so that the lease is released: another process beside the same sidecar
   * would lose its promise by that. `fn` must heed its signal: it is waited for in any case.
   *
   * Rejects only with what `fn` threw while this instance led.
   */
  run<T>(fn: RunFunction<T>, options: RunOptions = {}): Promise<RunOutcome<T>> {
    return run(this.#desk, fn, options)
  }

  /**
   * Yields the present state, then each change. The tenure that it yields stays valid while the next read is
   * waited for. Only the signal ends a read that waits.
   */
  watch(options: { readonly signal?: AbortSignal | undefined } = {}): AsyncIterable<Check> {
    return watch(this.#desk, options.signal ?? new AbortController().signal)
  }
}
