/** What the benchmarks share: processes to measure, figures of them, and a fair way to compare two. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const BUNDLE = join(ROOT, 'dist/tenure.mjs')
const BARE = join(ROOT, 'bench/server.mjs')

const LEADS_WITHIN_MS = 20_000
/** So that whoever waits does not take the processor from whoever is waited for. */
const ASK_PAUSE_MS = 5

export interface Measured {
  readonly child: ChildProcess
  readonly port: number
  stop(): Promise<void>
}

/** A fresh folder for state, removed by `remove`. */
export function temporary(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'tenure-bench-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

function stopper(child: ChildProcess): () => Promise<void> {
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
}

async function firstMatch(child: ChildProcess, pattern: RegExp): Promise<string> {
  if (child.stdout === null) throw new Error('no output to read')
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) {
    const found = pattern.exec(line)?.[1]
    if (found !== undefined) {
      child.stdout.resume()
      return found
    }
  }
  throw new Error('the process ended before it was ready')
}

export async function bareServer(bodyBytes: number): Promise<Measured> {
  const child = spawn(process.execPath, [BARE], {
    env: { ...process.env, BODY_BYTES: String(bodyBytes) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = Number(await firstMatch(child, /^(\d+)$/))
  return { child, port, stop: stopper(child) }
}

/** The bundled sidecar, once it listens. */
export async function bundledSidecar(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<Measured> {
  const flags = ['run', '--listen', '127.0.0.1:0', '--log-format', 'json', ...args]
  const child = spawn(process.execPath, [BUNDLE, ...flags], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = Number(await firstMatch(child, /"event":"listening".*?:(\d+)"/))
  return { child, port, stop: stopper(child) }
}

export interface Reply {
  readonly status: number
  readonly body: string
}

export function ask(port: number, path: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    }).on('error', reject)
  })
}

/** Between two questions of one wait. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ASK_PAUSE_MS))
}

/** Waits until the sidecar leads, and returns its answer. */
export async function leads(port: number): Promise<Reply> {
  const endMs = performance.now() + LEADS_WITHIN_MS
  for (;;) {
    const reply = await ask(port, '/v1/leadership')
    if (JSON.parse(reply.body).leading) return reply
    if (performance.now() > endMs)
      throw new Error(`it does not lead after ${LEADS_WITHIN_MS} ms: ${reply.body}`)
    await pause()
  }
}

/** Resident and anonymous memory of a process in kB, from the kernel. */
export function memoryOf(child: ChildProcess): { residentKb: number; anonymousKb: number } {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return { residentKb: field('VmRSS'), anonymousKb: field('RssAnon') }
}

/** The value below which this part of the values lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
  if (value === undefined) throw new Error('no values')
  return value
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
