/**
 * Everything that the log can say. The name of an event is fixed, and so is how loud it is: a normal handover is
 * `info`, stepping down without having been asked is `warn`, and not being elected is no event at all.
 */
type Level = 'debug' | 'info' | 'warn' | 'error'

/** What a line may carry beside its message; whatever is not known is left out. */
export interface LogFields {
  readonly election?: string
  /** Of our tenure, or of the holder that was seen. */
  readonly generation?: number | null
  readonly reason?: string
  readonly state?: string
  /** How long what ended had lasted, or how long what begins will. */
  readonly durationMs?: number
  readonly slackMs?: number
  readonly leaderlessMs?: number
  readonly holder?: string | null
  readonly session?: string
  readonly version?: string
  readonly url?: string
  readonly store?: string
  /** Of a store request. */
  readonly op?: string
  readonly result?: string
  /** Of a store error. */
  readonly kind?: string
  /** What a fault, a store or a check said. */
  readonly detail?: string
  readonly signal?: string
  readonly err?: unknown
}

interface LogEvent {
  readonly level: Level
  message(fields: LogFields): string
}

const says = (text: string) => (): string => text

/** A length of time for people. */
function span(ms = 0): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

/** ` after 12.3 s`, where the length of the tenure is known. */
function after({ durationMs }: LogFields): string {
  return durationMs === undefined ? '' : ` after ${span(durationMs)}`
}

/** What each kind of store fault comes to, for people. */
const STORE_FAULTS: Readonly<Record<string, string>> = {
  unavailable: 'the store does not answer',
  denied: 'the store refuses',
  schema: 'the schema of the store does not fit',
  misconfigured: 'the store cannot work as it is set up',
}

/** How a process that is stopping leaves the lease. */
const LEFT_BEHIND: Readonly<Record<string, string>> = {
  lapsed: 'stopped; the lease was not given back and runs out by itself',
  released: 'stopped; the lease is free',
}

const EVENTS = {
  sidecar_started: {
    level: 'info',
    message: ({ version, store }) => `Tenure ${version} started; the lease is kept in ${store}`,
  },
  config_warning: { level: 'warn', message: ({ detail }) => `${detail}` },
  listening: {
    level: 'info',
    message: ({ url, detail }) =>
      detail === undefined
        ? `the API answers on ${url}: try curl ${url}/v1/leadership`
        : `${detail} answer on ${url}`,
  },
  following: { level: 'info', message: says('standing for election') },
  observing: { level: 'info', message: says('watching; this instance never takes part') },
  elected: {
    level: 'info',
    message: ({ generation }) => `this instance leads, under generation ${generation}`,
  },
  holder_changed: {
    level: 'info',
    message: ({ holder, generation }) =>
      typeof holder === 'string'
        ? `${JSON.stringify(holder)} leads, under generation ${generation}`
        : 'nobody leads',
  },
  draining: {
    level: 'info',
    message: (fields) =>
      `not leading any more${after(fields)} (${fields.reason}); the lease is given back once the application can have stopped`,
  },
  resigned: { level: 'info', message: says('stepped down as asked; the lease is free') },
  drained: { level: 'info', message: says('the application has stopped; the lease is free') },
  lapsed: {
    level: 'warn',
    message: says(
      'the lease was not given back and runs out by itself: the application did not say "drained"',
    ),
  },
  lost: {
    level: 'warn',
    message: (fields) => `not leading any more${after(fields)}: the store says that the tenure is over`,
  },
  deadline: {
    level: 'warn',
    message: (fields) => `not leading any more${after(fields)}: no renewal succeeded in time`,
  },
  unhealthy: {
    level: 'warn',
    message: (fields) => `not leading any more${after(fields)}: the application is not well`,
  },
  application_unwell: { level: 'warn', message: ({ detail }) => `this instance does not stand: ${detail}` },
  application_well: { level: 'info', message: says('the application is well: this instance stands') },
  fault: { level: 'error', message: says('gave up because of a defect in Tenure; it stands again') },
  defect: { level: 'error', message: ({ detail }) => `a defect in Tenure, please report it: ${detail}` },
  damped: {
    level: 'warn',
    message: ({ durationMs }) => `tenures keep ending early: not standing for ${span(durationMs)}`,
  },
  paused: {
    level: 'warn',
    message: ({ durationMs }) => `this process, or a clock, stood still for about ${span(durationMs)}`,
  },
  store_error: {
    level: 'warn',
    message: ({ kind, detail }) => `${STORE_FAULTS[kind ?? ''] ?? kind}: ${detail}`,
  },
  store_recovered: { level: 'info', message: says('the store answers again') },
  store_note: { level: 'info', message: ({ detail }) => `${detail}` },
  renewed: { level: 'debug', message: ({ durationMs }) => `renewed in ${span(durationMs)}` },
  request: {
    level: 'debug',
    message: ({ op, result, durationMs }) => `${op}: ${result} in ${span(durationMs)}`,
  },
  shutdown: { level: 'info', message: ({ signal }) => `${signal ?? 'stop'}: shutting down` },
  stopped: {
    level: 'info',
    message: ({ reason, detail }) => LEFT_BEHIND[detail ?? reason ?? ''] ?? 'stopped',
  },
} as const satisfies Record<string, LogEvent>

export type LogEventName = keyof typeof EVENTS
export const LOG_EVENTS: Readonly<Record<LogEventName, LogEvent>> = EVENTS
