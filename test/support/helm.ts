/** Our charts, rendered by the real helm. */
import { spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Ended } from './command.ts'
import { requireBinary } from './kubernetes/binaries.ts'
import type { Manifest } from './manifests.ts'
import { parseManifests } from './manifests.ts'
import { tempFolder } from './temp.ts'

const CHARTS = fileURLToPath(new URL('../../charts/', import.meta.url))
const KILL_AFTER_MS = 60_000

export const STORES = ['kubernetes', 'postgres', 'sqlite'] as const
export type Store = (typeof STORES)[number]
export const FORMS = ['native', 'plain'] as const
export type Form = (typeof FORMS)[number]

/** What a chart is told: a tree of values, as in a values file. */
export type Values = { readonly [name: string]: unknown }

export interface RenderOptions {
  readonly namespace?: string
  readonly kubeVersion?: string
}

/** Not what a developer's own `helm dependency build` left. */
function isSource(path: string): boolean {
  return !/example-app\/(charts|Chart\.lock)$/.test(path)
}

/** Runs a program until it ends. */
export function run(
  program: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const child = spawn(program, [...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: KILL_AFTER_MS,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** A copy of the charts with their dependencies in place, and a helm that knows nothing of the user's own. */
export class Charts {
  readonly home: string
  #files = 0

  private constructor(home: string) {
    this.home = home
  }

  /** Ends with the test file. */
  static async copy(): Promise<Charts> {
    const folder = tempFolder()
    after(() => folder.remove())
    const charts = new Charts(folder.path)
    cpSync(CHARTS, join(folder.path, 'charts'), { recursive: true, filter: isSource })
    await mkdir(join(folder.path, 'values'))
    const built = await charts.helm('dependency', 'build', charts.path('example-app'))
    if (built.code !== 0) throw new Error(`helm dependency build: ${built.stderr}`)
    return charts
  }

  path(chart: string): string {
    return join(this.home, 'charts', chart)
  }

  helm(...args: readonly string[]): Promise<Ended> {
    const environment = {
      HELM_CACHE_HOME: join(this.home, 'cache'),
      HELM_CONFIG_HOME: join(this.home, 'config'),
      HELM_DATA_HOME: join(this.home, 'data'),
    }
    return run(requireBinary('helm'), args, environment)
  }

  /** What `helm template` says of the example application. */
  async template(values: Values, { namespace = 'apps', kubeVersion }: RenderOptions = {}): Promise<Ended> {
    const version = kubeVersion === undefined ? [] : ['--kube-version', kubeVersion]
    const file = await this.valuesFile(values)
    const chart = this.path('example-app')
    return this.helm('template', 'example', chart, '--namespace', namespace, '--values', file, ...version)
  }

  async valuesFile(values: Values): Promise<string> {
    this.#files += 1
    const path = join(this.home, 'values', `${this.#files}.json`)
    await writeFile(path, JSON.stringify(values))
    return path
  }

  /** As `template`, for what has to succeed. */
  async render(values: Values, options?: RenderOptions): Promise<readonly Manifest[]> {
    const { code, stdout, stderr } = await this.template(values, options)
    if (code !== 0) throw new Error(`helm template ${JSON.stringify(values)}: ${stderr}`)
    return parseManifests(stdout)
  }

  /** The message of a refusal. */
  async refusal(values: Values, options?: RenderOptions): Promise<string> {
    const { code, stderr } = await this.template(values, options)
    if (code === 0) throw new Error(`was rendered: ${JSON.stringify(values)}`)
    return stderr
  }
}

/** The charts of a test file; where its tests are skipped nothing is copied, and nothing of it may be touched. */
export async function chartsUnless(skip: string | false): Promise<Charts> {
  return skip === false ? Charts.copy() : (undefined as never)
}

const STORE_VALUES: Readonly<Record<Store, Values>> = {
  kubernetes: { kind: 'kubernetes' },
  postgres: { kind: 'postgres', postgres: { urlSecret: { name: 'database' } } },
  sqlite: { kind: 'sqlite', sqlite: { volume: { persistentVolumeClaim: { claimName: 'lease' } } } },
}

/** The least that has to be said for a store and a form of the sidecar; `more` goes under `tenure`. */
export function valuesFor(store: Store, form: Form, more: Values = {}): Values {
  return { tenure: { store: STORE_VALUES[store], native: form === 'native', ...more } }
}
