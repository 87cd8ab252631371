/** What an event teaches, whatever the phase: what stands in the store, how the store is, that we were woken. */
import { type Instant, longestElapsedMs } from '../clock/clock.ts'
import type { Granted, LeaseView, Refused } from './lease-store.ts'
import { type Asking, type Event, heldTenure, type Machine, type SeenRecord, type Turn } from './machine.ts'

const ALWAYS_CONTENDED = {
  kind: 'unavailable',
  message:
    'the record has been held up by somebody else for a whole ttl: look for a transaction or a program that keeps it locked',
} as const

/** Takes note of an event before the phase reacts to it. */
export function absorb(machine: Machine, event: Event, turn: Turn): Machine {
  if ('outcome' in event && event.outcome.kind === 'contended') return contended(machine, turn)
  switch (event.type) {
    case 'woken':
      return { ...machine, woken: machine.woken === 'suspect' ? 'suspect' : event.hint }
    case 'health':
      return { ...machine, healthy: event.healthy }
    case 'acquired':
      return absorbAcquired(answered(machine, turn), event.outcome, machine.asking, turn)
    case 'renewed': {
      const told = answered(machine, turn)
      if (event.outcome.kind === 'lost') return { ...told, seen: null }
      return event.outcome.kind === 'granted' ? sawOurs(told, event.outcome, machine.asking, turn) : told
    }
    case 'released': {
      const told = answered(machine, turn)
      if (event.outcome.kind !== 'released') return told
      const generation = heldTenure(machine.phase)?.generation ?? machine.above
      return saw(told, { holder: null, session: null, generation, remainingMs: 0 }, turn.now)
    }
    case 'read': {
      const told = answered(machine, turn)
      return event.view === null ? { ...told, seen: null } : saw(told, event.view, turn.now)
    }
    case 'failed':
      return absorbFailure(machine, event)
    default:
      return machine
  }
}

function answered(machine: Machine, turn: Turn): Machine {
  const store = { lastSuccessAt: turn.now, error: null }
  return { ...machine, asking: null, store, contendedSince: null }
}

/** Somebody in the way is normal for a moment; for a whole ttl it is something to be looked at. */
function contended(machine: Machine, turn: Turn): Machine {
  const contendedSince = machine.contendedSince ?? turn.now
  const { ttlMs } = machine.settings.timing
  const lasts = longestElapsedMs(contendedSince, turn.now) >= ttlMs
  const error = lasts ? ALWAYS_CONTENDED : machine.store.error
  return { ...machine, asking: null, store: { lastSuccessAt: turn.now, error }, contendedSince }
}

function absorbAcquired(
  machine: Machine,
  outcome: Granted | Refused | { readonly kind: 'contended' },
  asking: Asking | null,
  turn: Turn,
): Machine {
  if (outcome.kind === 'granted') return sawOurs(machine, outcome, asking, turn)
  return outcome.kind === 'refused' ? saw(machine, outcome, turn.now) : machine
}

function absorbFailure(machine: Machine, event: Extract<Event, { type: 'failed' }>): Machine {
  const { error } = event
  if (error === null) return { ...machine, asking: null }
  const store = { ...machine.store, error: { kind: error.kind, message: error.message } }
  return { ...machine, asking: null, store }
}

/** The record names us: its time counts from the send, as ours does. */
function sawOurs(machine: Machine, granted: Granted, asking: Asking | null, turn: Turn): Machine {
  const { identity, session, timing } = machine.settings
  const { generation } = granted
  const view = { holder: identity, session, generation, remainingMs: timing.ttlMs }
  return saw(machine, view, asking?.sentAt ?? turn.now)
}

function saw(machine: Machine, view: Omit<SeenRecord, 'at'> | LeaseView | Refused, at: Instant): Machine {
  const { holder, session, generation, remainingMs } = view
  return {
    ...machine,
    above: Math.max(machine.above, generation),
    seen: { holder, session, generation, remainingMs, at },
  }
}
