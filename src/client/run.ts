/** Work that runs while this instance leads, and is told when it no longer does. */
import type { Fence } from '../fencing/fence.ts'
import type { NotLeading } from './check.ts'
import { HeldTenure } from './held.ts'
import { keep, type Loss, type LossReason } from './keep.ts'
import type { Live } from './live.ts'
import { type Desk, liveOf, look } from './look.ts'
import { News } from './news.ts'
import { onAbort } from './waiting.ts'

/** Why the signal of a run was aborted; `signal.reason`, unless the caller stopped the run. */
export class TenureLostError extends Error {
  readonly reason: LossReason

  constructor({ reason, message }: Loss) {
    super(`the tenure is over (${reason}): ${message}`)
    this.name = 'TenureLostError'
    this.reason = reason
  }
}

/** What a fenced write gives, as far as a run looks at it. */
export interface Result {
  readonly ok: boolean
  readonly reason?: string
}

/** The tenure of a run: its validity grows with each answer of the sidecar, and ends with the run. */
export class RunTenure extends HeldTenure {
  readonly #lose: (loss: Loss) => void

  constructor(live: Live, lose: (loss: Loss) => void) {
    super(live.fence, live)
    this.#lose = lose
  }

  /** Passes a result through; a stale one ends the run. */
  heed<R extends Result>(result: R): R {
    if (isStale(result)) this.#lose(STALE)
    return result
  }
}

const STALE: Loss = { reason: 'stale', message: 'a fenced write was refused: a later tenure has begun' }

function isStale(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('ok' in value && 'reason' in value)) return false
  return value.ok === false && value.reason === 'stale'
}

/** How the function ended. */
export type Work<T> =
  | { readonly settled: 'returned'; readonly value: T }
  | { readonly settled: 'threw'; readonly error: unknown }

/**
 * How a run ended:
 * - `returned`: the function returned while this instance led;
 * - `lost`: the tenure was over before the function had settled, however that went then;
 * - `stopped`: the caller's signal ended it; `work` is null where the function was never called.
 */
export type RunOutcome<T> =
  | { readonly ended: 'returned'; readonly tenure: Fence; readonly value: T }
  | {
      readonly ended: 'lost'
      readonly tenure: Fence
      readonly reason: LossReason
      readonly message: string
      readonly work: Work<T>
    }
  | { readonly ended: 'stopped'; readonly tenure: Fence; readonly work: Work<T> }
  | { readonly ended: 'stopped'; readonly tenure: null; readonly work: null }

export interface RunOptions {
  /** Stops the run: ends the wait, or aborts the signal of the function and waits for it. */
  readonly signal?: AbortSignal | undefined
  /** Whether to declare the work drained when it has settled. False where other processes work beside this sidecar. */
  readonly drained?: boolean | undefined
  /** Told what is in the way, while waiting to lead, at each question. It must not throw. */
  readonly waiting?: ((check: NotLeading) => void) | undefined
}

export type RunFunction<T> = (tenure: RunTenure, signal: AbortSignal) => Promise<T> | T

export async function run<T>(desk: Desk, fn: RunFunction<T>, options: RunOptions): Promise<RunOutcome<T>> {
  if (typeof fn !== 'function') throw new TypeError(`run: ${typeof fn} given; give it the function to run`)
  for (;;) {
    const live = await lead(desk, options)
    if (live === null) return { ended: 'stopped', tenure: null, work: null }
    // Another run of this client may have declared the tenure drained since the answer.
    if (live.validForMs > 0) return runUnder(desk, live, fn, options)
  }
}

/** Waits until this instance leads; null when stopped before. */
async function lead(desk: Desk, { signal, waiting }: RunOptions): Promise<Live | null> {
  const news = new News(desk.settings, signal)
  while (!signal?.aborted) {
    const seen = await look(desk, { signal })
    if (signal?.aborted) break
    if (seen.leading) return liveOf(desk, seen)
    waiting?.(seen.check)
    await news.after(seen)
  }
  return null
}

async function runUnder<T>(
  desk: Desk,
  live: Live,
  fn: RunFunction<T>,
  { signal: stop, drained = true }: RunOptions,
): Promise<RunOutcome<T>> {
  const working = new AbortController()
  const keeping = new AbortController()
  const losses: Loss[] = []
  const lose = (loss: Loss): void => {
    losses.push(loss)
    live.end()
    keeping.abort()
    working.abort(new TenureLostError(loss))
  }
  if (drained) desk.drains.begin(live.fence)
  const forget = onAbort(stop, () => working.abort(stop?.reason))
  // A run that is being stopped still leads: its validity is kept up until the function has settled.
  const kept = keep(desk, live, keeping.signal).then((over) => over !== null && lose(over))
  const work = await settle(() => fn(new RunTenure(live, lose), working.signal))
  if (work.settled === 'returned' && isStale(work.value)) lose(STALE)
  else if (live.validForMs <= 0)
    lose({ reason: 'expired', message: 'the validity ran out before the work ended' })
  const [loss] = losses
  live.end()
  keeping.abort()
  forget()
  await kept
  if (drained) await desk.drains.finish(live.fence)
  return outcome(live.fence, work, loss, stop)
}

/** Calls once, and turns what comes of it into a value. */
async function settle<T>(call: () => Promise<T> | T): Promise<Work<T>> {
  try {
    return { settled: 'returned', value: await call() }
  } catch (error) {
    return { settled: 'threw', error }
  }
}

function outcome<T>(
  tenure: Fence,
  work: Work<T>,
  loss: Loss | undefined,
  stop: AbortSignal | undefined,
): RunOutcome<T> {
  if (loss !== undefined) {
    const { reason, message } = loss
    return { ended: 'lost', tenure, reason, message, work }
  }
  if (stop?.aborted) return { ended: 'stopped', tenure, work }
  if (work.settled === 'threw') throw work.error
  return { ended: 'returned', tenure, value: work.value }
}
