/**
 * The arithmetic of a lease: what is derived from the ttl, and the inequalities that must hold.
 *
 * The holder renews every `renewEveryMs` and stops at `ttlMs − marginMs`. What lies between, the window, must
 * hold two full attempts and a back-off, so that one lost request never costs the tenure.
 */

/** All in whole milliseconds. */
export interface Timing {
  /** How long the store keeps a tenure alive after its last renewal. */
  readonly ttlMs: number
  /** How much earlier than the store the holder stops. */
  readonly marginMs: number
  /** From the send of the last renewal that succeeded to the next. */
  readonly renewEveryMs: number
  /** The longest that one store request may take. */
  readonly attemptTimeoutMs: number
  /** The longest wait between two attempts. */
  readonly backoffMs: number
  /** The longest that one answer "leading" stays true. */
  readonly promiseMs: number
  /** How long a candidate that resigned does not stand. */
  readonly holdOffMs: number
}

/** A ttl, and whatever else was set; the rest is derived. */
export type TimingSettings = Pick<Timing, 'ttlMs'> & { readonly [K in keyof Timing]?: number | undefined }

/** Drift and clock granularity that any margin must be able to hide (G7). */
export const MARGIN_LEAST_MS = 10
export const PROMISE_MOST_MS = 1_000
export const ATTEMPT_TIMEOUT_MOST_MS = 5_000
export const BACKOFF_MOST_MS = 1_000
/**
 * From the end of the drain to the end of the release, promise included. A native sidecar may have 2 s, and all of
 * a shutdown takes 1.5 s at most: the rest is for closing what is open.
 */
export const RELEASE_WITHIN_MS = 1_200
export const TTL_MOST_MS = 24 * 60 * 60 * 1_000

/** Fills in what was not set. Nothing is checked here. */
export function deriveTiming(set: TimingSettings): Timing {
  const { ttlMs } = set
  const marginMs = set.marginMs ?? Math.floor(ttlMs / 5)
  const renewEveryMs = set.renewEveryMs ?? Math.floor(ttlMs / 2)
  const windowMs = ttlMs - marginMs - renewEveryMs
  return {
    ttlMs,
    marginMs,
    renewEveryMs,
    attemptTimeoutMs:
      set.attemptTimeoutMs ?? Math.min(ATTEMPT_TIMEOUT_MOST_MS, Math.floor((windowMs * 5) / 12)),
    backoffMs: set.backoffMs ?? Math.min(BACKOFF_MOST_MS, Math.floor(windowMs / 12)),
    promiseMs: set.promiseMs ?? Math.min(PROMISE_MOST_MS, Math.floor(ttlMs / 10)),
    holdOffMs: set.holdOffMs ?? Math.floor(ttlMs / 2),
  }
}

/** A rule that settings broke: what it says, and what the numbers were. */
export interface BrokenRule {
  /** The inequality, in the words of the settings. */
  readonly rule: string
  /** The same with its numbers. */
  readonly numbers: string
  readonly remedy: string
}

type Rule = readonly [holds: boolean, rule: string, numbers: string, remedy: string]

/** What has to hold before a window can be derived at all. */
function frameRules({ ttlMs, marginMs, renewEveryMs }: Timing, leastTtlMs: number): readonly Rule[] {
  return [
    [
      ttlMs >= leastTtlMs,
      'ttl ≥ the least ttl of the store',
      `${ttlMs} ms ≥ ${leastTtlMs} ms`,
      `set --ttl to ${leastTtlMs}ms or more`,
    ],
    [ttlMs <= TTL_MOST_MS, 'ttl ≤ 24 h', `${ttlMs} ms ≤ ${TTL_MOST_MS} ms`, 'set a shorter --ttl'],
    [
      marginMs >= MARGIN_LEAST_MS,
      `margin ≥ ${MARGIN_LEAST_MS} ms`,
      `${marginMs} ms ≥ ${MARGIN_LEAST_MS} ms`,
      'set a longer --margin; it has to hide drift and steps of the store clock',
    ],
    [
      marginMs < ttlMs,
      'margin < ttl',
      `${marginMs} ms < ${ttlMs} ms`,
      'set a shorter --margin or a longer --ttl',
    ],
    [renewEveryMs >= 1, 'renew-every ≥ 1 ms', `${renewEveryMs} ms ≥ 1 ms`, 'set a longer --renew-every'],
    [
      renewEveryMs < ttlMs - marginMs,
      'renew-every < ttl − margin',
      `${renewEveryMs} ms < ${ttlMs} − ${marginMs} = ${ttlMs - marginMs} ms`,
      'set a shorter --renew-every or --margin, or a longer --ttl',
    ],
  ]
}

/** What the window has to hold, and what an answer may promise. */
function windowRules(timing: Timing): readonly Rule[] {
  const { ttlMs, marginMs, renewEveryMs, attemptTimeoutMs, backoffMs, promiseMs } = timing
  const attemptsMs = renewEveryMs + 2 * attemptTimeoutMs + backoffMs
  return [
    [
      attemptTimeoutMs >= 1,
      'attempt-timeout ≥ 1 ms',
      `${attemptTimeoutMs} ms ≥ 1 ms`,
      'set a longer --attempt-timeout, or a longer --ttl to derive it from',
    ],
    [
      attemptsMs <= ttlMs - marginMs,
      'renew-every + 2 × attempt-timeout + backoff ≤ ttl − margin',
      `${renewEveryMs} + 2 × ${attemptTimeoutMs} + ${backoffMs} = ${attemptsMs} ms ≤ ${ttlMs} − ${marginMs} = ${ttlMs - marginMs} ms`,
      'two full attempts must fit before the holder stops: set a longer --ttl, or a shorter --renew-every, --attempt-timeout, --backoff or --margin',
    ],
    [promiseMs >= 1, 'promise ≥ 1 ms', `${promiseMs} ms ≥ 1 ms`, 'set a longer --promise'],
    [
      promiseMs <= PROMISE_MOST_MS,
      `promise ≤ ${PROMISE_MOST_MS} ms`,
      `${promiseMs} ms ≤ ${PROMISE_MOST_MS} ms`,
      'set a shorter --promise: a shutdown has to outwait it',
    ],
    [
      promiseMs <= ttlMs - marginMs,
      'promise ≤ ttl − margin',
      `${promiseMs} ms ≤ ${ttlMs - marginMs} ms`,
      'set a shorter --promise',
    ],
  ]
}

/**
 * The rules that `timing` breaks against a store that keeps leases of `leastTtlMs` or more; none when sound. One
 * broken rule of the frame breaks others in its train, and all that is derived from it: it is told alone.
 */
export function checkTiming(timing: Timing, leastTtlMs: number): readonly BrokenRule[] {
  const [frame] = brokenOf(frameRules(timing, leastTtlMs))
  return frame === undefined ? brokenOf(windowRules(timing)) : [frame]
}

function brokenOf(rules: readonly Rule[]): readonly BrokenRule[] {
  return rules.filter(([holds]) => !holds).map(([, rule, numbers, remedy]) => ({ rule, numbers, remedy }))
}
