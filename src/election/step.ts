import {
  drain,
  onDrained,
  onDrainedLeading,
  onReleased,
  onRenewedDraining,
  onStopDraining,
  proceedDraining,
  retryDraining,
  settleDraining,
} from './draining.ts'
import {
  onAcquired,
  onFailedFollowing,
  onHealthFollowing,
  onReadFollowing,
  onResignFollowing,
  onStopFollowing,
  proceedFollowing,
  settleFollowing,
} from './following.ts'
import { onRenewedLeading, proceedLeading, retryRenewal, settleLeading } from './leading.ts'
import {
  type Asking,
  type Command,
  type Event,
  enter,
  heldTenure,
  type Input,
  type Machine,
  type Phase,
  type Turn,
} from './machine.ts'
import { onAnsweredObserving, proceedObserving } from './observing.ts'
import { afterFailure } from './pace.ts'
import { absorb } from './reply.ts'
import type { Reason } from './status.ts'

export interface Step {
  readonly machine: Machine
  readonly commands: readonly Command[]
}

/**
 * One step: first what time alone decides, then the event, then the next request where one is due.
 *
 * Time comes first so that no event, however late it is delivered, meets a tenure that is already over.
 */
export function step(machine: Machine, event: Event, input: Input): Step {
  const turn: Turn = { ...input, commands: [] }
  const settled = settle(machine, turn)
  const request = settled.asking
  const told = absorb(settled, event, turn)
  const reacted = react(told, event, request, settled.above, turn)
  return { machine: proceed(settle(reacted, turn), turn), commands: turn.commands }
}

/** After a defect of ours in a step: whatever was held is no longer acted on, and the election goes on. */
export function stepAfterFault(machine: Machine, input: Input): Step {
  const turn: Turn = { ...input, commands: [] }
  const { phase, settings } = machine
  if (machine.asking !== null) turn.commands.push({ type: 'abort' })
  const idle = { ...machine, asking: null, woken: null }
  const exiting = phase.state === 'stopped' || (phase.state === 'draining' && phase.exit)
  if (exiting) return { machine: stopNow(idle, turn), commands: turn.commands }
  const askAt = afterFailure(settings.timing, turn)
  const next: Phase = settings.observer
    ? { state: 'observing', reason: 'fault', askAt }
    : { state: 'following', reason: 'fault', askAt, standAt: null, standAbove: 0, tries: 0, stopBy: null }
  return { machine: enter(idle, next, turn), commands: turn.commands }
}

/** What the clocks decide by themselves. */
function settle(machine: Machine, turn: Turn): Machine {
  const { phase } = machine
  switch (phase.state) {
    case 'following':
      return settleFollowing(machine, phase, turn)
    case 'leading':
      return settleLeading(machine, phase, turn)
    case 'draining':
      return settleDraining(machine, phase, turn)
    case 'observing':
    case 'stopped':
      return machine
  }
}

/** What the event means to the phase that it finds. `request`: the one that a reply answers. */
function react(machine: Machine, event: Event, request: Asking | null, above: number, turn: Turn): Machine {
  const { phase } = machine
  switch (event.type) {
    case 'tick':
    case 'woken':
      return machine
    case 'acquired':
      if (phase.state !== 'following' || request === null) return machine
      return onAcquired(machine, phase, event.outcome, { request, above }, turn)
    case 'renewed':
      if (request === null) return machine
      if (phase.state === 'leading') return onRenewedLeading(machine, phase, event.outcome, request, turn)
      if (phase.state === 'draining') return onRenewedDraining(machine, phase, event.outcome, request, turn)
      return machine
    case 'released':
      return phase.state === 'draining' ? onReleased(machine, phase, event.outcome, turn) : machine
    case 'read':
      if (phase.state === 'following') return onReadFollowing(machine, phase, event.view, turn)
      return phase.state === 'observing' ? onAnsweredObserving(machine, phase, turn) : machine
    case 'failed':
      return onFailed(machine, event, turn)
    case 'resign':
      return stepDown(machine, 'resigned', event.holdOffMs ?? machine.settings.timing.holdOffMs, turn)
    case 'drained':
      return onDrainedEvent(machine, event.generation, turn)
    case 'health':
      if (phase.state === 'following') return onHealthFollowing(machine, phase, turn)
      if (event.healthy) return machine
      return stepDown(machine, 'unhealthy', machine.settings.timing.holdOffMs, turn)
    case 'stop':
      return onStop(machine, turn)
    case 'abandon':
      return stopNow(machine, turn)
  }
}

function onFailed(machine: Machine, event: Extract<Event, { type: 'failed' }>, turn: Turn): Machine {
  const { phase } = machine
  switch (phase.state) {
    case 'following':
      return onFailedFollowing(machine, phase, event.error, turn)
    case 'leading':
      return retryRenewal(machine, phase, turn)
    case 'draining':
      return retryDraining(machine, phase, turn)
    case 'observing':
      return onAnsweredObserving(machine, phase, turn)
    case 'stopped':
      return machine
  }
}

/** Asked to give the lease up, and not to stand for a while. */
function stepDown(machine: Machine, reason: Reason, holdOffMs: number, turn: Turn): Machine {
  const { phase } = machine
  if (phase.state === 'leading') return drain(machine, phase, { reason, exit: false, holdOffMs }, turn)
  if (phase.state === 'following') return onResignFollowing(machine, phase, holdOffMs, turn)
  if (phase.state === 'draining') {
    return { ...machine, phase: { ...phase, holdOffMs: Math.max(phase.holdOffMs, holdOffMs) } }
  }
  return machine
}

/** Of another generation it changes nothing: that work is long over, or is not ours. */
function onDrainedEvent(machine: Machine, generation: number, turn: Turn): Machine {
  const { phase } = machine
  if (phase.state !== 'leading' && phase.state !== 'draining') return machine
  if (phase.tenure.generation !== generation) return machine
  if (phase.state === 'leading') return onDrainedLeading(machine, phase, turn)
  return onDrained(machine, phase, turn)
}

function onStop(machine: Machine, turn: Turn): Machine {
  const { phase } = machine
  switch (phase.state) {
    case 'following':
      return onStopFollowing(machine, phase, turn)
    case 'leading':
      return drain(machine, phase, { reason: 'shutdown', exit: true, holdOffMs: 0 }, turn)
    case 'draining':
      return onStopDraining(machine, phase, turn)
    case 'observing':
    case 'stopped':
      return stopNow(machine, turn)
  }
}

/** Ends at once and releases nothing: what is still held runs out by itself. */
function stopNow(machine: Machine, turn: Turn): Machine {
  if (machine.asking !== null) turn.commands.push({ type: 'abort' })
  const reason = heldTenure(machine.phase) === null ? 'shutdown' : 'lapsed'
  return enter(machine, { state: 'stopped', reason }, turn)
}

/** Hands the store the next request, where one is due and none is under way. */
function proceed(machine: Machine, turn: Turn): Machine {
  const { phase } = machine
  switch (phase.state) {
    case 'following':
      return proceedFollowing(machine, phase, turn)
    case 'leading':
      return proceedLeading(machine, phase, turn)
    case 'draining':
      return proceedDraining(machine, phase, turn)
    case 'observing':
      return proceedObserving(machine, phase, turn)
    case 'stopped':
      return machine
  }
}
