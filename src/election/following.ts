/** Not holding: ask when it is worth asking, and take the grant only if we may still stand when it comes. */
import { later, remainingMs } from '../clock/clock.ts'
import type { Contended, Granted, LeaseView, Refused, StoreError } from './lease-store.ts'
import { type Asking, ask, enter, type Following, type Machine, type Turn } from './machine.ts'
import {
  afterContention,
  afterFailure,
  afterFailures,
  afterHalfTtl,
  afterRefusal,
  dampingMs,
  REPEATS_AT_ONCE,
  whileHoldingOff,
} from './pace.ts'
import type { Reason } from './status.ts'
import { actUntil, isOver, type Tenure } from './tenure.ts'
import { RELEASE_WITHIN_MS } from './timing.ts'

/** Follows again after a tenure, and stands again once `holdOffMs` has gone by. */
export function follow(machine: Machine, reason: Reason, holdOffMs: number, turn: Turn): Machine {
  const { now } = turn
  const standAt = holdOffMs > 0 ? later(now, holdOffMs) : null
  const standAbove = machine.above
  return enter(
    machine,
    { state: 'following', reason, askAt: now, standAt, standAbove, tries: 0, stopBy: null },
    turn,
  )
}

/** Follows after a tenure that ended against our will; held back when that keeps happening. */
export function followAfterLoss(machine: Machine, reason: Reason, lastedMs: number, turn: Turn): Machine {
  const { timing } = machine.settings
  const flaps = lastedMs < timing.ttlMs ? machine.flaps + 1 : 0
  const delayMs = dampingMs(timing, flaps)
  if (delayMs > 0) turn.commands.push({ type: 'damped', delayMs })
  return follow({ ...machine, flaps }, reason, delayMs, turn)
}

function mayStand(machine: Machine, phase: Following): boolean {
  return machine.healthy && phase.standAt === null && phase.stopBy === null
}

export function settleFollowing(machine: Machine, phase: Following, turn: Turn): Machine {
  if (phase.stopBy !== null && remainingMs(phase.stopBy, turn.now) <= 0) return stopFollowing(machine, turn)
  if (phase.standAt !== null && remainingMs(phase.standAt, turn.now) <= 0) {
    return { ...machine, phase: { ...phase, standAt: null, askAt: turn.now } }
  }
  return machine
}

function stopFollowing(machine: Machine, turn: Turn): Machine {
  if (machine.asking !== null) turn.commands.push({ type: 'abort' })
  return enter(machine, { state: 'stopped', reason: 'shutdown' }, turn)
}

/** A grant may be under way: wait for it, to give it back; otherwise there is nothing to wait for. */
export function onStopFollowing(machine: Machine, phase: Following, turn: Turn): Machine {
  if (machine.asking?.op !== 'acquire') return stopFollowing(machine, turn)
  return { ...machine, phase: { ...phase, stopBy: phase.stopBy ?? later(turn.now, RELEASE_WITHIN_MS) } }
}

export function onResignFollowing(
  machine: Machine,
  phase: Following,
  holdOffMs: number,
  turn: Turn,
): Machine {
  return { ...machine, phase: { ...phase, standAt: later(turn.now, holdOffMs), standAbove: machine.above } }
}

/** The application's health changed: a candidate that is well again asks at once. */
export function onHealthFollowing(machine: Machine, phase: Following, turn: Turn): Machine {
  return machine.healthy ? { ...machine, phase: { ...phase, askAt: turn.now } } : machine
}

export function onAcquired(
  machine: Machine,
  phase: Following,
  outcome: Granted | Refused | Contended,
  asked: { readonly request: Asking; readonly above: number },
  turn: Turn,
): Machine {
  switch (outcome.kind) {
    case 'granted':
      return onGranted(machine, phase, outcome.generation, asked.request, turn)
    case 'refused':
      return onRefused(machine, phase, outcome, asked.above, turn)
    case 'contended': {
      const askAt = afterContention(machine.settings.timing, phase.tries, turn)
      return settleStop({ ...machine, phase: { ...phase, askAt, tries: phase.tries + 1 } }, turn)
    }
  }
}

function onGranted(
  machine: Machine,
  phase: Following,
  generation: number,
  request: Asking,
  turn: Turn,
): Machine {
  const { election, session, timing } = machine.settings
  const tenure: Tenure = {
    election,
    generation,
    session,
    actUntil: actUntil(request.sentAt, timing.ttlMs, timing.marginMs),
  }
  if (!mayStand(machine, phase)) return giveBack(machine, phase, tenure, turn)
  if (isOver(tenure, turn.now)) {
    // The grant took longer than it was worth. Our own session is no obstacle to the next one.
    return { ...machine, phase: { ...phase, askAt: afterFailure(timing, turn), tries: 0 } }
  }
  const renewAt = later(request.sentAt, timing.renewEveryMs)
  return enter(machine, { state: 'leading', reason: 'elected', tenure, since: turn.now, renewAt }, turn)
}

/** A grant that came after we stopped standing: released without ever having been announced. */
function giveBack(machine: Machine, phase: Following, tenure: Tenure, turn: Turn): Machine {
  const exit = phase.stopBy !== null
  const holdOffMs = phase.standAt === null ? 0 : Math.max(0, remainingMs(phase.standAt, turn.now))
  return enter(
    machine,
    {
      state: 'draining',
      reason: exit ? 'shutdown' : machine.healthy ? 'resigned' : 'unhealthy',
      tenure,
      stage: 'promising',
      until: phase.stopBy ?? later(turn.now, RELEASE_WITHIN_MS),
      renewAt: turn.now,
      exit,
      holdOffMs,
    },
    turn,
  )
}

function onRefused(machine: Machine, phase: Following, refused: Refused, above: number, turn: Turn): Machine {
  const { timing, session } = machine.settings
  const free = refused.session === null || refused.session === session || refused.remainingMs === 0
  if (free && refused.generation > above) {
    // Refused only because we knew less than the store: now we know, so ask again.
    const atOnce = phase.tries < REPEATS_AT_ONCE
    const askAt = atOnce ? turn.now : afterContention(timing, phase.tries, turn)
    return settleStop({ ...machine, phase: { ...phase, askAt, tries: phase.tries + 1 } }, turn)
  }
  const askAt = afterRefusal(timing, refused.remainingMs, turn)
  return settleStop({ ...machine, phase: { ...phase, askAt, tries: 0 } }, turn)
}

/** Looked on while not standing: another's tenure that began since then ends the hold-off. */
export function onReadFollowing(
  machine: Machine,
  phase: Following,
  view: LeaseView | null,
  turn: Turn,
): Machine {
  const { timing, session } = machine.settings
  const another = view !== null && view.session !== null && view.session !== session && view.remainingMs !== 0
  if (another) {
    const askAt = afterRefusal(timing, view.remainingMs, turn)
    const standAt = view.generation > phase.standAbove ? null : phase.standAt
    return { ...machine, phase: { ...phase, standAt, askAt } }
  }
  if (phase.standAt === null) return { ...machine, phase: { ...phase, askAt: afterHalfTtl(timing, turn) } }
  const askAt = whileHoldingOff(timing, phase.tries, turn)
  return { ...machine, phase: { ...phase, askAt, tries: phase.tries + 1 } }
}

export function onFailedFollowing(
  machine: Machine,
  phase: Following,
  error: StoreError | null,
  turn: Turn,
): Machine {
  // An abort is our own doing: whoever aborted has said when to ask.
  if (error === null) return settleStop(machine, turn)
  const { timing } = machine.settings
  const askAt =
    error.kind === 'unavailable' ? afterFailures(timing, phase.tries, turn) : afterHalfTtl(timing, turn)
  return settleStop({ ...machine, phase: { ...phase, askAt, tries: phase.tries + 1 } }, turn)
}

/** Nothing is under way any more: a candidate that is stopping has nothing left to wait for. */
function settleStop(machine: Machine, turn: Turn): Machine {
  const { phase } = machine
  return phase.state === 'following' && phase.stopBy !== null ? stopFollowing(machine, turn) : machine
}

export function proceedFollowing(machine: Machine, phase: Following, turn: Turn): Machine {
  if (machine.asking !== null || phase.stopBy !== null) return machine
  if (machine.woken === null && remainingMs(phase.askAt, turn.now) > 0) return machine
  const timeoutMs = machine.settings.timing.attemptTimeoutMs
  if (!mayStand(machine, phase)) return ask(machine, { type: 'current', timeoutMs }, turn)
  return ask(machine, { type: 'acquire', above: machine.above, timeoutMs }, turn)
}
