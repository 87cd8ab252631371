/** One replica: an application with its sidecar, as two processes that are frozen and woken together. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Answer, Order } from './app.ts'

const TENURE = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const APP = fileURLToPath(new URL('./app.ts', import.meta.url))

export class Pair {
  readonly name: string
  readonly #sidecar: ChildProcess
  readonly #app: ChildProcess

  private constructor(name: string, sidecar: ChildProcess, app: ChildProcess) {
    this.name = name
    this.#sidecar = sidecar
    this.#app = app
  }

  static async start(name: string, flags: readonly string[], databaseUrl: string): Promise<Pair> {
    const args = [
      TENURE,
      'run',
      '--identity',
      name,
      '--listen',
      '127.0.0.1:0',
      '--log-format',
      'json',
      ...flags,
    ]
    const sidecar = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const url = await listening(sidecar)
    const app = fork(APP, { env: { ...process.env, TENURE_URL: url, DATABASE_URL: databaseUrl } })
    await once(app, 'message')
    return new Pair(name, sidecar, app)
  }

  async tell(order: Order): Promise<Answer> {
    const answer = once(this.#app, 'message')
    this.#app.send(order)
    return (await answer)[0] as Answer
  }

  /** Both stand still, as in a frozen virtual machine. What they are told meanwhile waits for them. */
  freeze(): void {
    this.#sidecar.kill('SIGSTOP')
    this.#app.kill('SIGSTOP')
  }

  wake(): void {
    this.#sidecar.kill('SIGCONT')
    this.#app.kill('SIGCONT')
  }

  end(): void {
    this.#sidecar.kill('SIGKILL')
    this.#app.kill('SIGKILL')
  }
}

/** The address on which a sidecar says that it listens. */
async function listening(sidecar: ChildProcess): Promise<string> {
  if (sidecar.stdout === null) throw new Error('no output to read')
  const lines = createInterface({ input: sidecar.stdout })
  for await (const line of lines) {
    const { event, url } = JSON.parse(line)
    if (event !== 'listening') continue
    sidecar.stdout.resume()
    return new URL(url).origin
  }
  throw new Error('the sidecar ended before it listened')
}
