/** Where the SQLite file is: the forms of the URL, and what a path must be to hold leases at all. */
import { existsSync, readFileSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { StoreError } from '../store.ts'
import { kindOfFileSystem } from './file-system.ts'

const DEFAULT_FILE = join('tenure', 'tenure.db')

/**
 * The absolute path that a URL names: `sqlite:` (the default file of this user), `sqlite:PATH`, `sqlite:./PATH`,
 * `sqlite:~/PATH` as they are written, and `sqlite:///PATH` with percent-decoding.
 *
 * @throws StoreError `misconfigured`
 */
export function locate(url: string, environment: NodeJS.ProcessEnv = process.env): string {
  const rest = url.slice(url.indexOf(':') + 1)
  const written = rest.startsWith('//') ? decodePath(rest, url) : rest
  if (rest.includes('?')) {
    throw misconfigured(
      `store ${JSON.stringify(url)}: a SQLite store takes no settings after "?": remove them`,
    )
  }
  if (written === ':memory:') {
    throw misconfigured('store "sqlite::memory:": no other process can see memory: name a file')
  }
  if (written.includes('\0')) {
    throw misconfigured(`store ${JSON.stringify(url)}: a path holds no NUL character: remove it`)
  }
  if (written.endsWith('/')) {
    throw misconfigured(
      `store ${JSON.stringify(url)} names a folder: name a file in it, such as ${DEFAULT_FILE}`,
    )
  }
  if (written === '') return join(stateFolder(environment), DEFAULT_FILE)
  if (written.startsWith('~/')) return join(homeFolder(), written.slice(2))
  return resolve(written)
}

function decodePath(rest: string, url: string): string {
  if (!rest.startsWith('///')) {
    throw misconfigured(
      `store ${JSON.stringify(url)}: a SQLite file is on no host: write sqlite:///absolute/path or sqlite:./relative/path`,
    )
  }
  if (rest.includes('#')) {
    throw misconfigured(`store ${JSON.stringify(url)}: a SQLite store has no fragment: write # as %23`)
  }
  try {
    return decodeURIComponent(rest.slice(2))
  } catch (cause) {
    throw misconfigured(`store ${JSON.stringify(url)}: the percent-encoding is broken: write % as %25`, cause)
  }
}

/** The XDG rule: a relative path in the variable is ignored. */
function stateFolder(environment: NodeJS.ProcessEnv): string {
  const set = environment.XDG_STATE_HOME
  return set?.startsWith('/') ? set : join(homeFolder(), '.local', 'state')
}

function homeFolder(): string {
  try {
    return homedir()
  } catch (cause) {
    throw misconfigured(
      'this user has no home folder: name an absolute path, sqlite:/path/to/tenure.db',
      cause,
    )
  }
}

/**
 * Refuses what can never be a lease file, and remarks on what may not be one.
 *
 * @throws StoreError `misconfigured` for a folder, a path below a file, and a network file system.
 */
export function checkPlace(path: string, note: (message: string) => void): void {
  if (isFolder(path)) {
    throw misconfigured(`${path} is a folder: name a file in it, such as ${join(path, 'tenure.db')}`)
  }
  if (existsSync(path) && !isPlainFile(path)) {
    throw misconfigured(
      `${path} is no regular file (a device, a pipe or a socket): name a file on a local disk`,
    )
  }
  const present = nearestPresent(path)
  if (present !== path && !isFolder(present)) {
    throw misconfigured(`${path} lies below ${present}, which is a file: name a path below a folder`)
  }
  const kind = kindOfFileSystem(fileSystemType(present))
  if (kind?.shared === 'network') {
    throw misconfigured(
      `${path} is on ${kind.name}, a network file system, whose locks cannot be trusted: name a file on a local disk, or use a PostgreSQL store`,
    )
  }
  if (kind?.shared === 'perhaps') {
    note(
      `${path} is on ${kind.name}: its locks may not reach other machines or containers, so let candidates of one host only use it.`,
    )
  }
  if (isMountedAlone(path)) {
    note(
      `${path} is mounted as a single file: its journal lies elsewhere in each container, so mount its folder instead.`,
    )
  }
}

/** The path itself, or the nearest folder above it that exists. */
function nearestPresent(path: string): string {
  let present = path
  while (!existsSync(present) && dirname(present) !== present) present = dirname(present)
  return present
}

/** What may not be looked at counts as no folder: the requests will say so. */
function isFolder(path: string): boolean {
  return ifReadable(() => statSync(path).isDirectory()) ?? false
}

/** As with `isFolder`: what may not be looked at is left to the requests. */
function isPlainFile(path: string): boolean {
  return ifReadable(() => statSync(path).isFile()) ?? true
}

function isMountedAlone(path: string): boolean {
  const file = ifReadable(() => realpathSync(path))
  const mounts = ifReadable(() => readFileSync('/proc/self/mountinfo', 'utf8'))
  if (file === null || mounts === null) return false
  return mounts.split('\n').some((line) => mountPoint(line) === file)
}

/** The fifth field of a line; a space and a few other characters are written as `\\040`. */
function mountPoint(line: string): string | undefined {
  return line
    .split(' ')[4]
    ?.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

/** Null where the numbers are not Linux's. */
function fileSystemType(path: string): bigint | null {
  return process.platform === 'linux' ? ifReadable(() => statfsSync(path, { bigint: true }).type) : null
}

function ifReadable<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}

function misconfigured(message: string, cause: unknown = null): StoreError {
  return new StoreError('misconfigured', message, { cause })
}
