import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './sidecar.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const KILL_AFTER_MS = 20_000

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `tenure` as a process of its own, until it ends. */
export function tenure(argv: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    env: cleanEnvironment(environment),
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
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}

/** Runs `tenure` with its output put into a file descriptor, or into a pipe whose reader is gone. */
export function tenureInto(argv: readonly string[], output: number | 'gone'): Promise<Omit<Ended, 'stdout'>> {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    env: cleanEnvironment(),
    stdio: ['ignore', output === 'gone' ? 'pipe' : output, 'pipe'],
    timeout: KILL_AFTER_MS,
  })
  child.stdout?.destroy()
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stderr })))
}
