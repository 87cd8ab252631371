/** Real sidecars: processes of their own, told by signals, asked over HTTP. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
/** Longest that anything a test waits for may take, unless it says so. */
const WAIT_MOST_MS = 30_000
const POLL_MS = 10

export interface Leadership {
  readonly election: string
  readonly identity: string
  readonly leading: boolean
  readonly generation: number | null
  readonly session: string | null
  readonly validForMs: number | null
  readonly state: string
  readonly reason: string
  readonly revision: string
  readonly current: { holder: string | null; generation: number; expiresInMs: number | null } | null
  readonly draining: { generation: number; leaseRemainingMs: number } | null
  readonly store: { error: { kind: string; message: string } | null; lastSuccessAgoMs: number | null }
}

export interface LogLine {
  readonly event: string
  readonly level: string
  readonly election?: string
  readonly generation?: number
  readonly reason?: string
  readonly detail?: string
  readonly url?: string
  readonly op?: string
  readonly result?: string
  readonly durationMs?: number
}

/** Polls until `ask` gives a value, and fails with `what` when it never does. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null> | T | null,
  mostMs = WAIT_MOST_MS,
): Promise<T> {
  const endMs = performance.now() + mostMs
  for (;;) {
    const value = await ask()
    if (value !== null) return value
    if (performance.now() > endMs) throw new Error(`waited ${mostMs} ms for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** The environment of a child: without what a developer may have set for himself. */
export function cleanEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(TENURE_|PG|POD_NAME|NODE_TEST)/.test(name))
  return { ...Object.fromEntries(own), NO_COLOR: '1', ...more }
}

/** An answer, and when it was asked for and read here, on this process's steady clock. */
export interface Timed {
  readonly sentMs: number
  readonly answeredMs: number
  readonly answer: Leadership
}

/** How to start the process, beside its flags. */
export interface SpawnHow {
  readonly environment?: NodeJS.ProcessEnv
  /** Where its log goes instead of `log`: a descriptor, which stays ours. */
  readonly stdout?: number
  /** What is run instead of the source: a bundle. */
  readonly program?: string
  /** A program that starts it, with the arguments that come before its own. */
  readonly under?: readonly [string, ...string[]]
}

export class SidecarProcess {
  readonly identity: string
  readonly child: ChildProcess
  readonly log: LogLine[] = []
  /** What stood in the log and was no line of JSON: the last one of a process that was killed may be cut off. */
  readonly noise: string[] = []
  readonly #exit: Promise<unknown[]>
  #stderr = ''
  port = 0

  constructor(identity: string, args: readonly string[], how: SpawnHow = {}) {
    this.identity = identity
    const flags = ['run', '--identity', identity, '--listen', '127.0.0.1:0', '--log-format', 'json', ...args]
    const [program, ...before] = [...(how.under ?? []), process.execPath, how.program ?? MAIN, ...flags]
    this.child = spawn(program ?? process.execPath, before, {
      env: cleanEnvironment(how.environment),
      stdio: ['ignore', how.stdout ?? 'pipe', 'pipe'],
    })
    this.#exit = once(this.child, 'exit')
    if (this.child.stdout !== null) {
      createInterface({ input: this.child.stdout }).on('line', (line) => this.#read(line))
    }
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk
    })
  }

  #read(line: string): void {
    try {
      this.log.push(JSON.parse(line))
    } catch (error) {
      this.noise.push(`${line} (${error})`)
    }
  }

  /** Whether the process has ended. */
  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** What it complained of on standard error. */
  get stderr(): string {
    return this.#stderr
  }

  /** Waits until it answers. */
  async listening(): Promise<this> {
    const line = await until(`${this.identity} listens (${this.#stderr})`, () => {
      if (this.child.exitCode !== null) throw new Error(`${this.identity} ended: ${this.#stderr}`)
      return this.log.find(({ event, detail }) => event === 'listening' && detail === undefined) ?? null
    })
    this.port = Number(new URL(line.url ?? '').port)
    return this
  }

  /** One question on a connection of its own; null when it cannot be reached. */
  ask(
    path: string,
    options: { method?: string; body?: unknown; timeoutMs?: number; agent?: Agent } = {},
  ): Promise<{ status: number; body: string } | null> {
    const { method = 'GET', body, timeoutMs = 2_000, agent = false } = options
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'tenure-request': '1' }
    return new Promise((resolve) => {
      const sent = request(
        { host: '127.0.0.1', port: this.port, path, method, headers, agent, timeout: timeoutMs },
        (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => {
            text += chunk
          })
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
          response.on('error', () => resolve(null))
        },
      )
      sent.on('timeout', () => sent.destroy())
      sent.on('error', () => resolve(null))
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** `GET /v1/leadership`; null when it cannot be reached. */
  async leadership(election?: string): Promise<Leadership | null> {
    const query = election === undefined ? '' : `?election=${encodeURIComponent(election)}`
    const answer = await this.ask(`/v1/leadership${query}`)
    return answer === null ? null : (JSON.parse(answer.body) as Leadership)
  }

  /** As `leadership`, with the times of question and answer. */
  async timed(options: { timeoutMs?: number; agent?: Agent; election?: string } = {}): Promise<Timed | null> {
    const { election, ...how } = options
    const query = election === undefined ? '' : `?election=${encodeURIComponent(election)}`
    const sentMs = performance.now()
    const answer = await this.ask(`/v1/leadership${query}`, how)
    const answeredMs = performance.now()
    return answer === null ? null : { sentMs, answeredMs, answer: JSON.parse(answer.body) as Leadership }
  }

  /** The leadership as a report that promises nothing, and that does not count as the application asking. */
  async report(): Promise<Leadership | null> {
    const answer = await this.ask('/v1/leadership?after=none&wait=0ms')
    return answer === null ? null : (JSON.parse(answer.body) as Leadership)
  }

  async leads(mostMs = WAIT_MOST_MS, election?: string): Promise<Leadership> {
    return until(
      `${this.identity} leads`,
      async () => {
        const answer = await this.leadership(election)
        return answer?.leading ? answer : null
      },
      mostMs,
    )
  }

  post(path: string, body: unknown): Promise<{ status: number; body: string } | null> {
    return this.ask(path, { method: 'POST', body })
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Stops the process where it stands, and returns once it does. */
  async freeze(): Promise<void> {
    this.kill('SIGSTOP')
    await until(`${this.identity} stands still`, () => (this.#processState() === 'T' ? true : null))
  }

  thaw(): void {
    this.kill('SIGCONT')
  }

  /** One letter, as in `ps`. */
  #processState(): string {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'utf8')
    return stat.charAt(stat.lastIndexOf(')') + 2)
  }

  /** Its exit code, null when a signal ended it. */
  async exited(): Promise<number | null> {
    const [code] = await this.#exit
    return code as number | null
  }

  async end(): Promise<void> {
    if (this.ended) return
    this.kill('SIGKILL')
    await this.#exit
  }
}

/** Starts a sidecar that ends with the test, and waits until it answers. */
export async function sidecar(
  t: TestContext,
  identity: string,
  args: readonly string[],
  how: SpawnHow = {},
): Promise<SidecarProcess> {
  const process = new SidecarProcess(identity, args, how)
  t.after(() => process.end())
  return process.listening()
}
