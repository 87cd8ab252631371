/**
 * Compose's own reading of a file: the library of Compose, built once from the Go module beside this file into the
 * user's cache. It checks the file against the schema of the Compose specification.
 */
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

const MODULE = fileURLToPath(new URL('go/', import.meta.url))
const BUILD_MOST_MS = 300_000

/** Where the program is, built or not: in a folder that changes with every version and with our own source. */
function readerPath(): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const digest = createHash('sha256')
  for (const file of ['go.mod', 'go.sum', 'main.go']) digest.update(readFileSync(join(MODULE, file)))
  return join(cache, 'tenure', `compose-reader-${digest.digest('hex').slice(0, 8)}`, 'compose-reader')
}

/**
 * Why Compose's reading cannot be had; false where it can.
 *
 * @throws Error with CI=true, where a missing tool is a failure.
 */
export function noReader(): string | false {
  if (existsSync(readerPath()) || spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0) return false
  const reason = 'THERE IS NO GO, so the Compose file is not checked against its schema: install Go'
  if (process.env.CI === 'true') throw new Error(reason)
  return reason
}

/** Builds the program where it is missing: half a minute, once on a machine. */
async function build(): Promise<string> {
  const target = readerPath()
  if (existsSync(target)) return target
  mkdirSync(dirname(target), { recursive: true })
  const temporary = `${target}.${process.pid}`
  try {
    const env = { ...process.env, GOFLAGS: '-p=2', CGO_ENABLED: '0' }
    await run('go', ['build', '-ldflags', '-s -w', '-o', temporary, '.'], {
      cwd: MODULE,
      env,
      timeout: BUILD_MOST_MS,
    })
    renameSync(temporary, target)
  } finally {
    rmSync(temporary, { force: true })
  }
  return target
}

/** Reads a file as Compose does. Rejects, with Compose's own words in `stderr`, where it is not valid. */
export async function readAsCompose(file: string): Promise<unknown> {
  const { stdout } = await run(await build(), [file])
  return JSON.parse(stdout)
}
