/** A pod played with two real processes, which end in the order and with the signals that the kubelet has for them. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Ended } from '../command.ts'
import { cleanEnvironment, SidecarProcess } from '../sidecar.ts'

const APPLICATION = fileURLToPath(new URL('application.ts', import.meta.url))

/**
 * `native`: an init container that is restarted always. It is told to end once the application has ended.
 * `plain`: a container as any other, with `tenure drain` as its preStop hook.
 */
export type Form = 'native' | 'plain'

/** What a native sidecar is left with, however long the application took. */
const SIDECAR_LEAST_MS = 2_000

/** What the application wrote down; `atMs` on the clock of `now`. */
export interface Note {
  readonly event: 'began' | 'stopped' | 'drained'
  readonly generation: number
  readonly atMs: number
}

/** This process's time on the clock that the application writes down: both count from the start of the machine. */
const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** Exit codes; null where a process was killed. */
export interface Deleted {
  readonly application: number | null
  readonly sidecar: number | null
  /** How the preStop hook ended; null where there is none. */
  readonly hook: Ended | null
}

export interface PodSettings {
  readonly identity: string
  readonly form: Form
  readonly bundle: string
  /** Flags of the sidecar. */
  readonly flags: readonly string[]
  /** How long the application needs for the piece of work that it is at. */
  readonly finishMs: number
  /** It never ends by itself. */
  readonly stubborn?: boolean
}

export class Pod {
  readonly sidecar: SidecarProcess
  readonly notes: Note[] = []
  readonly #application: ChildProcess
  readonly #applicationEnded: Promise<unknown[]>
  readonly #form: Form
  readonly #bundle: string
  /** When the application was killed, on the clock of `performance.now`. */
  killedMs: number | null = null

  private constructor(sidecar: SidecarProcess, { form, bundle, finishMs, stubborn = false }: PodSettings) {
    this.sidecar = sidecar
    this.#form = form
    this.#bundle = bundle
    const environment = {
      TENURE_URL: `http://127.0.0.1:${sidecar.port}`,
      FINISH_MS: `${finishMs}`,
      ...(stubborn && { STUBBORN: '1' }),
    }
    this.#application = spawn(process.execPath, [APPLICATION], {
      env: cleanEnvironment(environment),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#applicationEnded = once(this.#application, 'close')
    const { stdout } = this.#application
    if (stdout !== null) createInterface({ input: stdout }).on('line', (line) => this.#note(JSON.parse(line)))
  }

  /** The sidecar first, in either form: a plain one is waited for by `tenure wait --ready`. */
  static async start(settings: PodSettings): Promise<Pod> {
    const sidecar = new SidecarProcess(settings.identity, settings.flags, { program: settings.bundle })
    try {
      return new Pod(await sidecar.listening(), settings)
    } catch (error) {
      await sidecar.end()
      throw error
    }
  }

  #note({ atMs, ...note }: Note): void {
    this.notes.push({ ...note, atMs: atMs - offsetMs })
  }

  /** Deletes the pod, as the kubelet does with `graceMs` for its terminationGracePeriod. */
  async delete(graceMs: number): Promise<Deleted> {
    const endMs = performance.now() + graceMs
    if (this.#form === 'native') {
      const application = await this.#endApplication(graceMs)
      return { application, sidecar: await this.#endSidecar(SIDECAR_LEAST_MS), hook: null }
    }
    const leftMs = () => Math.max(0, endMs - performance.now())
    const [application, ended] = await Promise.all([
      this.#endApplication(graceMs),
      this.#preStop(graceMs).then(async (hook) => ({ hook, sidecar: await this.#endSidecar(leftMs()) })),
    ])
    return { application, ...ended }
  }

  async #endApplication(graceMs: number): Promise<number | null> {
    this.#application.kill('SIGTERM')
    const timer = setTimeout(() => {
      this.killedMs = performance.now()
      this.#application.kill('SIGKILL')
    }, graceMs)
    const [code] = await this.#applicationEnded
    clearTimeout(timer)
    return code as number | null
  }

  /** The hook has to leave time for what comes after it. */
  #preStop(graceMs: number): Promise<Ended> {
    const timeoutMs = graceMs - SIDECAR_LEAST_MS
    const flags = ['--timeout', `${timeoutMs}ms`, '--listen', `127.0.0.1:${this.sidecar.port}`]
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [this.#bundle, 'drain', ...flags],
        { env: cleanEnvironment() },
        (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
      )
    })
  }

  async #endSidecar(withinMs: number): Promise<number | null> {
    this.sidecar.kill('SIGTERM')
    const timer = setTimeout(() => this.sidecar.kill('SIGKILL'), withinMs)
    const code = await this.sidecar.exited()
    clearTimeout(timer)
    return code
  }

  async end(): Promise<void> {
    this.#application.kill('SIGKILL')
    await Promise.all([this.sidecar.end(), this.#applicationEnded])
  }
}
