/** A real Prometheus, for what is meant to be read by one. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from './postgres.ts'
import { until } from './sidecar.ts'
import { tempFolder } from './temp.ts'

const run = promisify(execFile)

const SCRAPE_EVERY = '500ms'
const EVALUATE_EVERY = '250ms'
const ASK_MOST_MS = 5_000
const LOG_KEPT_CHARS = 4_000

/**
 * Why tests that need Prometheus cannot run; false where they can.
 *
 * @throws Error with CI=true, where a missing program is a failure.
 */
export function skipPrometheus(): string | false {
  const missing = ['prometheus', 'promtool'].filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status !== 0,
  )
  if (missing.length === 0) return false
  const reason = `THERE IS NO ${missing.join(', NO ')}: install the package prometheus to have the rules and the dashboard tested`
  if (process.env.CI === 'true') throw new Error(reason)
  return reason
}

/** What `promtool` says; it throws, with what it said, where it complains. */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('promtool', [...args], { maxBuffer: 1 << 24 })
  return stdout
}

/** A sidecar as Prometheus is told of it. */
export interface Target {
  readonly port: number
  readonly instance: string
}

/** Labels and points of one series: seconds since 1970, and the value. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly (readonly [number, string])[]
}

interface Answer<T> {
  readonly status: string
  readonly error?: string
  readonly data: T
}

export interface Rules {
  /** Text of a file of rules. */
  readonly rules: string
  /** Label that every target gets. */
  readonly namespace: string
}

export class Prometheus {
  readonly #child: ChildProcess
  readonly #url: string
  readonly #targets: string
  readonly #namespace: string
  #log = ''

  private constructor(child: ChildProcess, url: string, targets: string, namespace: string) {
    this.#child = child
    this.#url = url
    this.#targets = targets
    this.#namespace = namespace
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#log = (this.#log + chunk).slice(-LOG_KEPT_CHARS)
    })
  }

  /** Starts one that ends with the test, and waits until it answers. */
  static async start(t: TestContext, { rules, namespace }: Rules): Promise<Prometheus> {
    const folder = tempFolder()
    const targets = join(folder.path, 'targets.json')
    writeFileSync(targets, '[]')
    writeFileSync(join(folder.path, 'rules.yaml'), rules)
    writeFileSync(join(folder.path, 'prometheus.yaml'), configuration(targets))
    const port = await freePort()
    const args = [
      `--config.file=${join(folder.path, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder.path, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    const ended = once(child, 'exit')
    t.after(async () => {
      child.kill('SIGKILL')
      await ended
      folder.remove()
    })
    const prometheus = new Prometheus(child, `http://127.0.0.1:${port}`, targets, namespace)
    await until('Prometheus answers', () => prometheus.#ready())
    return prometheus
  }

  /** From now on these are scraped. */
  scrape(targets: readonly Target[]): void {
    const groups = targets.map(({ port, instance }) => ({
      targets: [`127.0.0.1:${port}`],
      labels: { instance, namespace: this.#namespace },
    }))
    // Prometheus watches the file: it must not read half of it.
    writeFileSync(`${this.#targets}.new`, JSON.stringify(groups))
    renameSync(`${this.#targets}.new`, this.#targets)
  }

  /** What an expression comes to now. */
  async query(expression: string): Promise<readonly Series[]> {
    type Instant = { readonly metric: Series['metric']; readonly value: readonly [number, string] }
    const parameters = { query: expression }
    const { result } = await this.#ask<{ result: readonly Instant[] }>('query', parameters)
    return result.map(({ metric, value }) => ({ metric, values: [value] }))
  }

  /** What an expression came to, step by step. Times in seconds since 1970. */
  async range(expression: string, startS: number, endS: number, stepS: number): Promise<readonly Series[]> {
    const parameters = { query: expression, start: `${startS}`, end: `${endS}`, step: `${stepS}` }
    return (await this.#ask<{ result: readonly Series[] }>('query_range', parameters)).result
  }

  /** Names of the alerts that fire now. */
  async firing(): Promise<ReadonlySet<string>> {
    const series = await this.query('ALERTS{alertstate="firing"}')
    return new Set(series.map(({ metric }) => metric.alertname ?? ''))
  }

  async #ask<T>(path: string, parameters: Readonly<Record<string, string>>): Promise<T> {
    const response = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(parameters)}`, {
      signal: AbortSignal.timeout(ASK_MOST_MS),
    })
    const answer = (await response.json()) as Answer<T>
    if (answer.status !== 'success') throw new Error(`${parameters.query}: ${answer.error}`)
    return answer.data
  }

  async #ready(): Promise<true | null> {
    if (this.#child.exitCode !== null) throw new Error(`Prometheus ended: ${this.#log}`)
    const response = await fetch(`${this.#url}/-/ready`).catch(() => null)
    return response?.ok ? true : null
  }
}

function configuration(targets: string): string {
  return JSON.stringify({
    global: {
      scrape_interval: SCRAPE_EVERY,
      scrape_timeout: SCRAPE_EVERY,
      evaluation_interval: EVALUATE_EVERY,
    },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'tenure', file_sd_configs: [{ files: [targets] }] }],
  })
}
