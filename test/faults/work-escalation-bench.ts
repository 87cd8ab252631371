/** The escalation example at work: real runners, a receiver that writes down what arrives, a database. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { PostgresServer } from '../support/postgres.ts'
import { cleanEnvironment } from '../support/sidecar.ts'

const EXAMPLE = new URL('../../examples/escalation/', import.meta.url)
const BLIND_TOKEN = fileURLToPath(new URL('./work-blind-token.ts', import.meta.url))

/** The example imports the library by its name. */
const FROM_SOURCE = '--conditions=tenure-source'

export const LEASE_MS = 300
export const STEPS = 4
/** Almost four leases: one page that hangs makes its batch outlive them. */
const HANG_MS = 1_100
const BATCH = 25

/** Pages of this step hang where their alert is one of the first of each so many: several in one batch. */
const HANGING_STEP = 1
const HANGING_TOGETHER = 4

export interface Page {
  readonly alertId: string
  readonly step: number
  readonly runner: string
}

/** A line of a runner's log. */
export interface Line {
  readonly event: string
  readonly op?: string
  readonly result?: string
  readonly became?: string
  readonly tookMs?: number
}

export interface BenchOptions {
  readonly alerts: number
  /** Of every so many alerts in a row some hang. */
  readonly hangingEvery: number
  readonly blind?: boolean
}

/** One listed by `unknown.ts`. */
export interface Listed {
  readonly alert: string
  readonly step: number
}

export class EscalationBench {
  readonly url: string
  readonly pool: pg.Pool
  /** Pages that arrived, in order. */
  readonly pages: Page[] = []
  readonly lines: Line[] = []
  hung = 0
  /** Called as a page arrives, before it is answered. */
  onPage: (page: Page) => void = () => undefined
  readonly #options: BenchOptions
  readonly #receiver: Server
  readonly #runners = new Map<string, ChildProcess>()
  #stderr = ''

  private constructor(url: string, receiver: Server, options: BenchOptions) {
    this.url = url
    this.pool = new pg.Pool({ connectionString: url, max: 2 })
    // A session that is on its way out when the server stops.
    this.pool.on('error', () => undefined)
    this.#receiver = receiver
    this.#options = options
  }

  /** On a database of its own. */
  static async start(
    t: { after(end: () => Promise<void>): void },
    server: PostgresServer,
    options: BenchOptions,
  ): Promise<EscalationBench> {
    const receiver = createServer().listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const bench = new EscalationBench(server.url(await server.createDatabase()), receiver, options)
    t.after(() => bench.#close())
    await bench.#fill()
    bench.#receive()
    return bench
  }

  /** What went wrong in a runner. */
  get stderr(): string {
    return this.#stderr
  }

  startRunner(name: string): void {
    const preload = this.#options.blind === true ? ['--import', BLIND_TOKEN] : []
    const program = fileURLToPath(new URL('run.ts', EXAMPLE))
    const flags = ['--runner', name, '--lease-ms', `${LEASE_MS}`, '--batch', `${BATCH}`, '--poll-ms', '20']
    const child = spawn(process.execPath, [FROM_SOURCE, ...preload, program, ...flags], {
      env: cleanEnvironment({ DATABASE_URL: this.url }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#runners.set(name, child)
    createInterface({ input: child.stdout }).on('line', (line) => {
      // The last line of a killed runner may be cut off.
      if (line.endsWith('}')) this.lines.push(JSON.parse(line))
    })
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr += chunk
    })
  }

  signalRunner(name: string, signal: NodeJS.Signals): void {
    this.#runners.get(name)?.kill(signal)
  }

  /** Ends a runner by a signal, and returns once it has ended. */
  async endRunner(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#runners.get(name)
    if (child === undefined) return
    this.#runners.delete(name)
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  /** How often each step arrived, by `alert/step`. */
  arrivals(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { alertId, step } of this.pages) {
      const id = `${alertId}/${step}`
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    return counts
  }

  /** What the example's own command lists, once every runner has ended. */
  async listUnknown(): Promise<readonly Listed[]> {
    const program = fileURLToPath(new URL('unknown.ts', EXAMPLE))
    const child = spawn(process.execPath, [FROM_SOURCE, program, '--json', '--older-than-ms', '0'], {
      env: cleanEnvironment({ DATABASE_URL: this.url }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk
    })
    await once(child, 'close')
    return JSON.parse(text)
  }

  async #fill(): Promise<void> {
    await this.pool.query(await readFile(new URL('schema.sql', EXAMPLE), 'utf8'))
    const address = this.#receiver.address()
    if (address === null || typeof address === 'string') throw new Error('no port was given')
    await this.pool.query(`INSERT INTO escalation.channel VALUES ('page', $1, ${HANG_MS})`, [
      `http://127.0.0.1:${address.port}/`,
    ])
    await this.pool.query(
      `INSERT INTO escalation.rung SELECT n, 'person ' || n, 'page', 30 FROM generate_series(0, ${STEPS - 1}) n`,
    )
    await this.pool.query(
      `INSERT INTO escalation.alert (title) SELECT 'alert ' || n FROM generate_series(1, ${this.#options.alerts}) n`,
    )
  }

  /** Of the pages that hang every other one arrived all the same: nobody but the receiver can tell. */
  #receive(): void {
    this.#receiver.on('request', async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      const page: Page = JSON.parse(body)
      const alert = Number(page.alertId)
      const hangs = page.step === HANGING_STEP && alert % this.#options.hangingEvery < HANGING_TOGETHER
      if (hangs) this.hung++
      if (!hangs || alert % 2 === 0) this.pages.push(page)
      this.onPage(page)
      if (!hangs) response.end()
    })
  }

  async #close(): Promise<void> {
    for (const name of [...this.#runners.keys()]) await this.endRunner(name, 'SIGKILL')
    this.#receiver.closeAllConnections()
    this.#receiver.close()
    await this.pool.end()
  }
}
