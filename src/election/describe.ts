import { type Instant, longestElapsedMs } from '../clock/clock.ts'
import type { Machine, SeenRecord } from './machine.ts'
import { promise } from './promises.ts'
import type { Answer, Seen, Status } from './status.ts'
import { actForMs } from './tenure.ts'

/** What the driver knows beside the machine. */
export interface Context {
  readonly revision: string
  readonly sinceMs: number
  readonly store: { readonly kind: string; readonly location: string }
}

/** Time for which this instance may act; zero or less unless it leads. Computed from the clocks, never kept. */
export function leadsForMs(machine: Machine, now: Instant): number {
  return machine.phase.state === 'leading' ? actForMs(machine.phase.tenure, now) : 0
}

/** The election at one instant. */
export function describe(machine: Machine, now: Instant, context: Context): Status {
  const { settings, phase, store } = machine
  const actFor = Math.max(0, leadsForMs(machine, now))
  const tenure = phase.state === 'leading' && actFor > 0 ? phase.tenure : null
  return {
    election: settings.election,
    identity: settings.identity,
    leading: tenure !== null,
    generation: tenure?.generation ?? null,
    session: tenure?.session ?? null,
    actForMs: actFor,
    state: phase.state,
    reason: phase.reason,
    sinceMs: context.sinceMs,
    revision: context.revision,
    current: machine.seen === null ? null : describeSeen(machine.seen, now),
    draining:
      phase.state === 'draining'
        ? {
            generation: phase.tenure.generation,
            leaseRemainingMs: Math.max(0, Math.floor(actForMs(phase.tenure, now))),
          }
        : null,
    store: {
      ...context.store,
      lastSuccessAgoMs:
        store.lastSuccessAt === null ? null : Math.floor(longestElapsedMs(store.lastSuccessAt, now)),
      error: store.error,
    },
  }
}

function describeSeen(seen: SeenRecord, now: Instant): Seen {
  const ageMs = Math.floor(longestElapsedMs(seen.at, now))
  const { holder, generation, remainingMs } = seen
  const expiresInMs = remainingMs === null ? null : Math.max(0, Math.floor(remainingMs - ageMs))
  return { holder, generation, expiresInMs, observedAgeMs: ageMs }
}

/**
 * Answers a question, and promises: while leading, the caller may act for `validForMs` from when it asked. The
 * machine that comes back remembers the promise. An answer that could promise less than 1 ms is "not leading".
 */
export function answer(
  machine: Machine,
  now: Instant,
  context: Context,
): { readonly machine: Machine; readonly answer: Answer } {
  const status = describe(machine, now, context)
  const validForMs = Math.floor(Math.min(status.actForMs, machine.settings.timing.promiseMs))
  if (status.generation === null || validForMs < 1) {
    const no = { ...status, leading: false, generation: null, session: null, actForMs: 0, validForMs: 0 }
    return { machine, answer: no }
  }
  const promises = promise(machine.promises, status.generation, now, validForMs)
  return { machine: { ...machine, promises }, answer: { ...status, validForMs } }
}
