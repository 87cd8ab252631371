import pino from 'pino'
import type { Clock } from '../clock/clock.ts'
import { LOG_EVENTS, type LogEventName, type LogFields } from './events.ts'
import { openOutput, type Sink } from './output.ts'

/** Writes events. Never throws, never waits. */
export interface EventLog {
  event(name: LogEventName, fields?: LogFields): void
  /** Resolves when all lines are written, or after `FLUSH_MOST_MS`: nobody may be reading. */
  flush(): Promise<void>
}

export interface LogSettings {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  readonly format: 'auto' | 'json' | 'pretty'
  /** The label of this instance, on each line. */
  readonly identity: string
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean
  /** Whether colours are wanted on one. */
  readonly colour: boolean
}

const STANDARD_OUTPUT = 1
/** The last lines of a process may take this long: a small part of what a shutdown may. */
const FLUSH_MOST_MS = 200

/**
 * A log on `sink`, by default standard output.
 *
 * JSON, one object a line, or, for people, a short line for each event.
 */
export async function createLog(settings: LogSettings, clock: Clock, sink?: Sink): Promise<EventLog> {
  const output = sink ?? openOutput(STANDARD_OUTPUT, clock)
  const { level, format, identity, isTerminal, colour } = settings
  const pretty = format === 'pretty' || (format === 'auto' && isTerminal)
  const logger = pino(
    {
      level,
      base: { identity },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pretty ? await prettyOn(output, isTerminal && colour) : output,
  )
  return {
    event: (name, fields = {}) => {
      const known = LOG_EVENTS[name]
      const dropped = output.dropped ?? 0
      logger[known.level]({ event: name, ...fields, ...(dropped > 0 && { dropped }) }, known.message(fields))
    },
    flush: () => flushWithin(output, clock, FLUSH_MOST_MS),
  }
}

function flushWithin(output: Sink, clock: Clock, mostMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(mostMs, resolve)
  output.flush?.().then(resolve)
  if (output.flush === undefined) resolve()
  return promise.finally(cancel)
}

/** Loaded only when a person reads. */
async function prettyOn(sink: Sink, colorize: boolean): Promise<Sink> {
  const { prettySink } = await import('./pretty.ts')
  return prettySink(sink, colorize)
}
