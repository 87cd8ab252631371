import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('./sqlite-child.ts', import.meta.url))
const STDIO: StdioOptions = ['pipe', 'pipe', 'inherit']

export interface Line {
  readonly kind: string
  readonly message?: string
  readonly generation?: number
  readonly atMs?: number
}

/** The command line of a child, for a shell or a wrapper to start. */
export function childCommand(act: string, path: string): readonly string[] {
  return [process.execPath, SCRIPT, act, path]
}

/** A child process and the lines that it prints. */
export class Child {
  readonly #process: ChildProcess
  readonly #lines: Interface
  readonly #iterator: AsyncIterator<string>

  constructor(command: readonly string[]) {
    const [program, ...parameters] = command
    if (program === undefined) throw new Error('a command names a program')
    this.#process = spawn(program, parameters, { stdio: STDIO })
    const output = this.#process.stdout
    if (output === null) throw new Error('the output of the child is piped')
    this.#lines = createInterface({ input: output })
    this.#iterator = this.#lines[Symbol.asyncIterator]()
  }

  /** The next line, null after the last. */
  async next(): Promise<Line | null> {
    const { value, done } = await this.#iterator.next()
    return done ? null : JSON.parse(value)
  }

  /** Every line until the child ends by itself. */
  async rest(): Promise<readonly Line[]> {
    const all: Line[] = []
    for (let line = await this.next(); line !== null; line = await this.next()) all.push(line)
    return all
  }

  /** Ends the child's input, and waits until it has gone. */
  async end(): Promise<number | null> {
    this.#process.stdin?.end()
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await once(this.#process, 'exit')
    return this.#process.exitCode
  }

  /** For the end of a test, whatever happened in it. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.end()
  }
}
