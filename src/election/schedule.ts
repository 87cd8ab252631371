import { type Instant, remainingMs } from '../clock/clock.ts'
import type { Machine } from './machine.ts'
import { promisedForMs } from './promises.ts'

/** Everything that a phase waits for by the clock. */
function dueAt(machine: Machine): readonly (Instant | null)[] {
  const { phase, asking } = machine
  const whenIdle = (at: Instant): Instant | null => (asking === null ? at : null)
  switch (phase.state) {
    case 'following':
      return [whenIdle(phase.askAt), phase.standAt, phase.stopBy]
    case 'leading':
      return [phase.tenure.actUntil, whenIdle(phase.renewAt)]
    case 'draining':
      return phase.stage === 'working'
        ? [phase.tenure.actUntil, phase.until, whenIdle(phase.renewAt)]
        : [phase.until]
    case 'observing':
      return [whenIdle(phase.askAt)]
    case 'stopped':
      return []
  }
}

/** How long until the next `tick` is worth its while; null when nothing is waited for. Only a hint to a timer. */
export function nextTickMs(machine: Machine, now: Instant): number | null {
  const waits = dueAt(machine).flatMap((at) => (at === null ? [] : [remainingMs(at, now)]))
  const { phase } = machine
  if (phase.state === 'draining' && phase.stage === 'promising' && machine.asking === null) {
    waits.push(Math.max(promisedForMs(machine.promises, now), remainingMs(phase.renewAt, now)))
  }
  return waits.length === 0 ? null : Math.max(0, Math.min(...waits))
}
