/** The sidecar, from its start to its orderly end. */
import type { Clock } from '../clock/clock.ts'
import type { LoadedConfig } from '../config/load.ts'
import { createLog, type EventLog } from '../logging/logger.ts'
import { createSidecar, type RunningSidecar } from '../sidecar/sidecar.ts'
import { VERSION } from '../version.ts'
import { takeOverSignals } from './early-signals.ts'
import { EXIT } from './exit.ts'

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Runs until a signal ends it, and returns the exit code.
 *
 * @throws StoreError `misconfigured`, ListenError: what stops a start.
 */
export async function run(config: LoadedConfig, clock: Clock): Promise<number> {
  const { logLevel: level, logFormat: format, identity } = config.values
  const isTerminal = process.stdout.isTTY === true
  const colour = isTerminal && process.env.NO_COLOR === undefined
  const log = await createLog({ level, format, identity, isTerminal, colour }, clock)
  const signals = new Signals(log)
  try {
    for (const detail of config.warnings) log.event('config_warning', { detail })
    const sidecar = await createSidecar({ config, clock, log, version: VERSION })
    await sidecar.start()
    return await signals.end(sidecar)
  } finally {
    await log.flush()
  }
}

/** Listens for signals from the beginning: as process 1 there is no default action that would end us. */
class Signals {
  readonly #log: EventLog
  readonly #end = Promise.withResolvers<number>()
  #sidecar: RunningSidecar | null = null
  #stopping = false

  constructor(log: EventLog) {
    this.#log = log
    for (const signal of STOP_SIGNALS) process.on(signal, () => this.#received(signal))
    takeOverSignals()
    // After a defect nothing that we hold can be trusted: go, and let the lease run out.
    const defect = (err: unknown): void => {
      log.event('defect', { err, detail: err instanceof Error ? err.message : String(err) })
      this.#end.resolve(EXIT.fault)
    }
    process.on('uncaughtException', defect)
    process.on('unhandledRejection', defect)
  }

  /** Resolves with the exit code, once a signal has come and everything it asks for is done. */
  end(sidecar: RunningSidecar): Promise<number> {
    this.#sidecar = sidecar
    if (this.#stopping) this.#shutDown(sidecar)
    return this.#end.promise
  }

  /** The first signal begins the orderly end; a second one ends the wait, and nothing more is released. */
  #received(signal: string): void {
    this.#log.event('shutdown', { signal })
    if (this.#stopping) {
      this.#sidecar?.abandon()
      return
    }
    this.#stopping = true
    if (this.#sidecar !== null) this.#shutDown(this.#sidecar)
  }

  #shutDown(sidecar: RunningSidecar): void {
    sidecar.stop().then(
      () => this.#end.resolve(EXIT.ok),
      (error: unknown) => this.#end.reject(error),
    )
  }
}
