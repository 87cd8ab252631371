import type { Monitor, RequestReport } from '../election/monitor.ts'
import type { Reason, Status, Transition } from '../election/status.ts'
import type { LogEventName, LogFields } from './events.ts'
import type { EventLog } from './logger.ts'

/** The event that tells why a tenure, or a readiness to stand, ended. */
const ENDINGS: Readonly<Partial<Record<Reason, LogEventName>>> = {
  deadline: 'deadline',
  lost: 'lost',
  resigned: 'resigned',
  drained: 'drained',
  lapsed: 'lapsed',
  unhealthy: 'following',
  fault: 'fault',
}

function eventOf({ to, reason }: Transition): LogEventName {
  if (to === 'leading') return 'elected'
  if (to === 'draining') return reason === 'unhealthy' ? 'unhealthy' : 'draining'
  if (to === 'stopped') return 'stopped'
  return ENDINGS[reason] ?? to
}

/** What one election said last, so that nothing is said twice. */
interface Memory {
  /** The store error that stands, null when the store answers. */
  storeError: string | null
  leadingSinceMs: number | null
}

/** Writes down what elections do. */
export function logMonitor(log: EventLog): Monitor {
  const memories = new Map<string, Memory>()
  const memoryOf = (election: string): Memory => {
    const memory = memories.get(election) ?? { storeError: null, leadingSinceMs: null }
    memories.set(election, memory)
    return memory
  }
  return {
    transition: (transition, status) => logTransition(log, memoryOf(status.election), transition, status),
    holder: (status) => logHolder(log, status),
    request: (report) => {
      logRequest(log, report)
      logStore(log, memoryOf(report.election), report)
    },
    damped: (election, durationMs) => log.event('damped', { election, durationMs: Math.round(durationMs) }),
    paused: (election, durationMs) => log.event('paused', { election, durationMs: Math.round(durationMs) }),
    fault: (election, error) => log.event('defect', { election, err: error, detail: messageOf(error) }),
  }
}

function logTransition(log: EventLog, memory: Memory, transition: Transition, status: Status): void {
  const { from, to, reason, generation } = transition
  const { election, sinceMs } = status
  const lasted = memory.leadingSinceMs
  memory.leadingSinceMs = to === 'leading' ? sinceMs : null
  log.event(eventOf(transition), {
    election,
    state: to,
    reason,
    ...(generation !== null && { generation }),
    ...(to === 'stopped' && from === 'draining' && reason === 'shutdown' && { detail: 'released' }),
    ...(lasted !== null && { durationMs: Math.max(0, sinceMs - lasted) }),
  })
}

/** Our own tenure was announced by its transition. */
function logHolder(log: EventLog, { election, state, current }: Status): void {
  if (current === null || state === 'leading' || state === 'draining') return
  const { holder, generation } = current
  log.event('holder_changed', { election, holder, generation })
}

function logRequest(log: EventLog, report: RequestReport): void {
  const { election, op, result, slackMs, leaderlessMs } = report
  const fields: LogFields = {
    election,
    op,
    result,
    durationMs: Math.round(report.durationMs),
    ...(slackMs !== null && { slackMs: Math.round(slackMs) }),
    ...(leaderlessMs !== null && { leaderlessMs: Math.round(leaderlessMs) }),
  }
  log.event(op === 'renew' && result === 'granted' ? 'renewed' : 'request', fields)
}

/** One line for each change of what is wrong with the store, however often it is asked in between. */
function logStore(log: EventLog, memory: Memory, { election, result, error }: RequestReport): void {
  if (result === 'aborted' || (result === 'contended' && error === null)) return
  if (error === null) {
    if (memory.storeError !== null) log.event('store_recovered', { election })
    memory.storeError = null
    return
  }
  const { kind, message } = error
  // The bound of an attempt shrinks towards the deadline: the number in a time-out's message is no news.
  const told = result === 'timeout' ? `${kind} timeout` : `${kind} ${message}`
  if (told === memory.storeError) return
  memory.storeError = told
  log.event('store_error', { election, kind, detail: message })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
