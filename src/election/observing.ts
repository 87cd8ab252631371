/** Watching: ask what stands, never for the lease. */
import { remainingMs } from '../clock/clock.ts'
import { ask, type Machine, type Observing, type Turn } from './machine.ts'
import { afterHalfTtl } from './pace.ts'

export function onAnsweredObserving(machine: Machine, phase: Observing, turn: Turn): Machine {
  return { ...machine, phase: { ...phase, askAt: afterHalfTtl(machine.settings.timing, turn) } }
}

export function proceedObserving(machine: Machine, phase: Observing, turn: Turn): Machine {
  if (machine.asking !== null) return machine
  if (machine.woken === null && remainingMs(phase.askAt, turn.now) > 0) return machine
  return ask(machine, { type: 'current', timeoutMs: machine.settings.timing.attemptTimeoutMs }, turn)
}
