/** A wait with a bound, made of attempts and of sleep between them. */
import type { Clock } from '../clock/clock.ts'
import type { Place } from './attempt.ts'
import type { Ticket } from './wait-queue.ts'

/** Where the attempts are made. `A` is what an attempt may answer, beside a place in the queue. */
export interface Attempts<A> {
  first(): A
  next(ticket: Ticket): A
  /** The wait is given up. Answers as an attempt that found it so. */
  giveUp(ticket: Ticket): A
}

/**
 * Tries, and sleeps until something changes, the earliest blocker may be gone or the bound has come; until an
 * attempt answers anything else than a place in the queue. An abort of `signal` ends the wait.
 */
export async function within<A extends object>(
  attempts: Attempts<A>,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<Exclude<A, Place>> {
  let attempt = attempts.first()
  while (isQueued(attempt)) {
    const { ticket } = attempt
    if (signal?.aborted !== true) await sleep(attempt, clock, signal)
    attempt = signal?.aborted === true ? attempts.giveUp(ticket) : attempts.next(ticket)
  }
  return attempt as Exclude<A, Place>
}

function isQueued(attempt: object): attempt is Place {
  return 'ticket' in attempt
}

async function sleep(
  { nextInMs, changed }: Place,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = (): void => resolve()
  const cancel = clock.after(nextInMs, wake)
  signal?.addEventListener('abort', wake, { once: true })
  changed.then(wake)
  await promise
  cancel()
  signal?.removeEventListener('abort', wake)
}
