/** A server that a test starts, and what may befall it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const LOG_KEPT_CHARS = 16_000
const STOP_TIMEOUT_MS = 10_000

export class ServerProcess {
  readonly #path: string
  readonly #args: readonly string[]
  #child: ChildProcess | null = null
  #log = ''

  constructor(path: string, args: readonly string[]) {
    this.#path = path
    this.#args = args
  }

  /** What it last wrote. */
  get log(): string {
    return this.#log
  }

  get running(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  start(): void {
    const child = spawn(this.#path, [...this.#args], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#log = (this.#log + chunk.toString()).slice(-LOG_KEPT_CHARS)
      })
    }
  }

  /** Asks it to end, and kills it when it takes long. */
  async stop(): Promise<void> {
    this.#child?.kill('SIGCONT')
    await this.#end('SIGTERM')
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Freezes it: connections stay open and nothing answers. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }
}
