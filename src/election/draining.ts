/**
 * Giving the lease up: the application is told first, the store last, and in between every answer that was
 * given stays true.
 */
import { later, remainingMs } from '../clock/clock.ts'
import { follow } from './following.ts'
import type { Contended, Granted, Lost, Released } from './lease-store.ts'
import { type Asking, ask, type Draining, enter, type Leading, type Machine, type Turn } from './machine.ts'
import { afterContention, afterFailure } from './pace.ts'
import { promisedForMs, waive } from './promises.ts'
import type { Reason } from './status.ts'
import { actForMs, actUntil, isOver } from './tenure.ts'
import { RELEASE_WITHIN_MS } from './timing.ts'

interface How {
  readonly reason: Reason
  readonly exit: boolean
  readonly holdOffMs: number
}

function draining(machine: Machine, phase: Leading, how: How, turn: Turn): Draining {
  const until = later(turn.now, machine.settings.drainMs)
  const { tenure, renewAt } = phase
  return { ...how, state: 'draining', tenure, stage: 'working', until, renewAt }
}

/** Answers "not leading" from here on; the application has the drain time to finish. */
export function drain(machine: Machine, phase: Leading, how: How, turn: Turn): Machine {
  const next = draining(machine, phase, how, turn)
  if (machine.settings.drainMs > 0) return enter(machine, next, turn)
  return beginPromising(machine, next, turn)
}

/** The application stopped by itself: nothing is left to wait for under this generation. */
export function onDrainedLeading(machine: Machine, phase: Leading, turn: Turn): Machine {
  const promises = waive(machine.promises, phase.tenure.generation)
  const { holdOffMs } = machine.settings.timing
  const next = draining(machine, phase, { reason: 'drained', exit: false, holdOffMs }, turn)
  return beginPromising({ ...machine, promises }, next, turn)
}

/** The application's work is over: outwait its answers, then release. A renewal under way is not waited for. */
function beginPromising(machine: Machine, phase: Draining, turn: Turn): Machine {
  if (machine.asking !== null) turn.commands.push({ type: 'abort' })
  const until = later(turn.now, RELEASE_WITHIN_MS)
  return enter(machine, { ...phase, stage: 'promising', until, renewAt: turn.now }, turn)
}

/** The application says that its work under this generation has stopped. */
export function onDrained(machine: Machine, phase: Draining, turn: Turn): Machine {
  const waived = { ...machine, promises: waive(machine.promises, phase.tenure.generation) }
  if (phase.stage !== 'working') return { ...waived, phase }
  return beginPromising(waived, { ...phase, reason: phase.exit ? phase.reason : 'drained' }, turn)
}

/** The process is to stop: what is being drained goes on being drained, and then it stops. */
export function onStopDraining(machine: Machine, phase: Draining, turn: Turn): Machine {
  return enter(machine, { ...phase, exit: true, reason: 'shutdown' }, turn)
}

export function settleDraining(machine: Machine, phase: Draining, turn: Turn): Machine {
  if (phase.stage === 'working' && isOver(phase.tenure, turn.now)) {
    return finish(machine, phase, 'deadline', turn)
  }
  if (remainingMs(phase.until, turn.now) > 0) return machine
  // The drain time is over and the application may still be working, or the store does not answer.
  return finish(machine, phase, 'lapsed', turn)
}

export function onRenewedDraining(
  machine: Machine,
  phase: Draining,
  outcome: Granted | Lost | Contended,
  request: Asking,
  turn: Turn,
): Machine {
  const { timing } = machine.settings
  if (outcome.kind === 'lost') return finish(machine, phase, 'lost', turn)
  if (outcome.kind === 'contended') return retryDraining(machine, phase, turn)
  const tenure = { ...phase.tenure, actUntil: actUntil(request.sentAt, timing.ttlMs, timing.marginMs) }
  const renewAt = phase.stage === 'working' ? later(request.sentAt, timing.renewEveryMs) : phase.renewAt
  return { ...machine, phase: { ...phase, tenure, renewAt } }
}

export function onReleased(
  machine: Machine,
  phase: Draining,
  outcome: Released | Lost | Contended,
  turn: Turn,
): Machine {
  if (outcome.kind === 'contended') return retryDraining(machine, phase, turn)
  return finish(machine, phase, phase.reason, turn)
}

/** A renewal or a release that failed or was contended: once more, soon. An abort changes nothing. */
export function retryDraining(machine: Machine, phase: Draining, turn: Turn): Machine {
  const { timing } = machine.settings
  if (phase.stage === 'working') {
    return { ...machine, phase: { ...phase, renewAt: afterFailure(timing, turn) } }
  }
  if (phase.stage === 'promising') return machine
  const renewAt = afterContention(timing, 1, turn)
  return { ...machine, phase: { ...phase, stage: 'promising', renewAt } }
}

function finish(machine: Machine, phase: Draining, reason: Reason, turn: Turn): Machine {
  if (machine.asking !== null) turn.commands.push({ type: 'abort' })
  if (phase.exit) {
    const orderly = reason === phase.reason
    return enter(machine, { state: 'stopped', reason: orderly ? 'shutdown' : reason }, turn)
  }
  if (reason !== 'lapsed') return follow(machine, reason, phase.holdOffMs, turn)
  // The lease was not given back. Standing again before it ran out would depose work that may still go on.
  const runsOutMs = actForMs(phase.tenure, turn.now) + machine.settings.timing.marginMs
  return follow(machine, reason, Math.max(phase.holdOffMs, runsOutMs), turn)
}

export function proceedDraining(machine: Machine, phase: Draining, turn: Turn): Machine {
  if (machine.asking !== null || phase.stage === 'releasing') return machine
  const due = remainingMs(phase.renewAt, turn.now) <= 0
  const { attemptTimeoutMs } = machine.settings.timing
  const { tenure } = phase
  if (phase.stage === 'working') {
    if (!due && machine.woken !== 'suspect') return machine
    const timeoutMs = Math.min(attemptTimeoutMs, actForMs(tenure, turn.now))
    return ask(machine, { type: 'renew', tenure, timeoutMs }, turn)
  }
  if (!due || promisedForMs(machine.promises, turn.now) > 0) return machine
  const timeoutMs = Math.min(attemptTimeoutMs, remainingMs(phase.until, turn.now))
  return ask(
    { ...machine, phase: { ...phase, stage: 'releasing' } },
    { type: 'release', tenure, timeoutMs },
    turn,
  )
}
