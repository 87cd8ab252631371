/** A rendered container, run as a process of this machine: what it would run, with the variables that it would have. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import type { Container, Manifest } from './manifests.ts'
import { only, variablesOf } from './manifests.ts'
import { cleanEnvironment } from './sidecar.ts'

/** Where the image has its Node.js. */
const NODE = '/usr/local/bin/node'
const SCRIPTS = '/example'

export class ContainerProcess {
  readonly child: ChildProcess
  /** What it printed, a line each. */
  readonly lines: string[] = []
  readonly #exit: Promise<unknown[]>
  #stderr = ''

  constructor([program = '', ...args]: readonly string[], environment: NodeJS.ProcessEnv) {
    this.child = spawn(program, args, {
      env: cleanEnvironment(environment),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exit = once(this.child, 'close')
    if (this.child.stdout !== null) {
      createInterface({ input: this.child.stdout }).on('line', (line) => this.lines.push(line))
    }
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk
    })
  }

  get stderr(): string {
    return this.#stderr
  }

  /** Its exit code, null when a signal ended it. */
  async exited(): Promise<number | null> {
    const [code] = await this.#exit
    return code as number | null
  }

  async end(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL')
    await this.#exit
  }
}

/** Writes the scripts of a rendered ConfigMap into a folder below `home`, and answers where. */
export function mountScripts(home: string, manifests: readonly Manifest[]): string {
  const folder = mkdtempSync(join(home, 'scripts-'))
  for (const [name, text] of Object.entries(only(manifests, 'ConfigMap', 'example-script').data ?? {})) {
    writeFileSync(join(folder, name), text)
  }
  return folder
}

export interface Mounted {
  readonly scripts: string
  /** What differs here from the pod: ports, paths, Secrets. */
  readonly environment?: NodeJS.ProcessEnv
}

/** Starts the container; it ends with the test. `args` replace those of the manifest. */
export function startContainer(
  t: TestContext,
  container: Container,
  { scripts, environment = {} }: Mounted,
  args: readonly string[] = [],
): ContainerProcess {
  const command = (container.command ?? []).map((word) =>
    word === NODE ? process.execPath : word.replace(SCRIPTS, scripts),
  )
  const all = args.length === 0 ? command : [...command.slice(0, 2), ...args]
  const started = new ContainerProcess(all, { ...variablesOf(container), ...environment })
  t.after(() => started.end())
  return started
}
