/** Holding: renew in time, and end the moment the clocks or the store say so. */
import { later, longestElapsedMs, remainingMs } from '../clock/clock.ts'
import { followAfterLoss } from './following.ts'
import type { Contended, Granted, Lost } from './lease-store.ts'
import { type Asking, ask, type Leading, type Machine, type Turn } from './machine.ts'
import { afterFailure } from './pace.ts'
import { actForMs, actUntil, isOver } from './tenure.ts'

/** Ends the tenure against our will. A renewal under way is given up: it could not revive it. */
export function endTenure(
  machine: Machine,
  phase: Leading,
  reason: 'deadline' | 'lost',
  turn: Turn,
): Machine {
  if (machine.asking !== null) turn.commands.push({ type: 'abort' })
  return followAfterLoss(machine, reason, longestElapsedMs(phase.since, turn.now), turn)
}

export function settleLeading(machine: Machine, phase: Leading, turn: Turn): Machine {
  return isOver(phase.tenure, turn.now) ? endTenure(machine, phase, 'deadline', turn) : machine
}

export function onRenewedLeading(
  machine: Machine,
  phase: Leading,
  outcome: Granted | Lost | Contended,
  request: Asking,
  turn: Turn,
): Machine {
  const { timing } = machine.settings
  switch (outcome.kind) {
    case 'granted': {
      const tenure = { ...phase.tenure, actUntil: actUntil(request.sentAt, timing.ttlMs, timing.marginMs) }
      const renewAt = later(request.sentAt, timing.renewEveryMs)
      return { ...machine, phase: { ...phase, tenure, renewAt } }
    }
    case 'lost':
      return endTenure(machine, phase, 'lost', turn)
    case 'contended':
      return retryRenewal(machine, phase, turn)
  }
}

/** The outcome is unknown, so the deadline stands; there is room for another attempt in the window. */
export function retryRenewal(machine: Machine, phase: Leading, turn: Turn): Machine {
  return { ...machine, phase: { ...phase, renewAt: afterFailure(machine.settings.timing, turn) } }
}

export function proceedLeading(machine: Machine, phase: Leading, turn: Turn): Machine {
  if (machine.asking !== null) return machine
  if (machine.woken !== 'suspect' && remainingMs(phase.renewAt, turn.now) > 0) return machine
  const { tenure } = phase
  const timeoutMs = Math.min(machine.settings.timing.attemptTimeoutMs, actForMs(tenure, turn.now))
  return ask(machine, { type: 'renew', tenure, timeoutMs }, turn)
}
