/**
 * The programs of the Kubernetes tests: kube-apiserver, etcd, a candidate made of client-go, kubectl and helm. From
 * KUBEBUILDER_ASSETS where that is set, else built once, from the Go modules beside this file, into the user's
 * cache.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const MODULES = fileURLToPath(new URL('go/', import.meta.url))
const LOCK_POLL_MS = 1_000
/** A builder touches its lock this often; one that has not for long is gone. */
const LOCK_TOUCH_MS = 5_000
const LOCK_STALE_MS = 60_000

export interface Binary {
  readonly name: 'kube-apiserver' | 'etcd' | 'leaderelection' | 'kubectl' | 'helm'
  readonly module: string
  readonly package: string
  readonly version: string
  readonly ldflags: string
  /** About how long a cold build takes, for people. */
  readonly takes: string
}

const VERSION_FLAGS = 'k8s.io/component-base/version'
const KUBERNETES_MAJOR_MINOR = /^v(\d+)\.(\d+)\./

const KUBERNETES = requiredVersion('apiserver', 'k8s.io/kubernetes')
const KUBECTL = requiredVersion('kubectl', 'k8s.io/kubernetes')

export const BINARIES: readonly Binary[] = [
  {
    name: 'etcd',
    module: 'etcd',
    package: 'go.etcd.io/etcd/server/v3',
    version: requiredVersion('etcd', 'go.etcd.io/etcd/server/v3'),
    ldflags: '-s -w',
    takes: 'two minutes',
  },
  {
    name: 'kube-apiserver',
    module: 'apiserver',
    package: 'k8s.io/kubernetes/cmd/kube-apiserver',
    version: KUBERNETES,
    ldflags: `-s -w ${versionFlags(KUBERNETES)}`,
    takes: 'ten minutes',
  },
  {
    name: 'leaderelection',
    module: 'leaderelection',
    package: '.',
    version: requiredVersion('leaderelection', 'k8s.io/client-go'),
    ldflags: '-s -w',
    takes: 'a minute',
  },
  {
    name: 'kubectl',
    module: 'kubectl',
    package: 'k8s.io/kubernetes/cmd/kubectl',
    version: KUBECTL,
    ldflags: `-s -w ${versionFlags(KUBECTL)}`,
    takes: 'two minutes',
  },
  {
    name: 'helm',
    module: 'helm',
    package: 'helm.sh/helm/v4/cmd/helm',
    version: requiredVersion('helm', 'helm.sh/helm/v4'),
    ldflags: '-s -w',
    takes: 'five minutes',
  },
]

/** Where a program is, or null where it has to be built first. */
export function findBinary(name: Binary['name']): string | null {
  const assets = process.env.KUBEBUILDER_ASSETS ?? ''
  for (const path of [...(assets === '' ? [] : [join(assets, name)]), cachedPath(binary(name))]) {
    if (existsSync(path)) return path
  }
  return null
}

/** Those of the programs that are missing. */
export function missingBinaries(
  names: readonly Binary['name'][] = BINARIES.map(({ name }) => name),
): readonly Binary['name'][] {
  return names.filter((name) => findBinary(name) === null)
}

/** Where a program is. Tests that need it are skipped, or fail, before they come here. */
export function requireBinary(name: Binary['name']): string {
  const path = findBinary(name)
  if (path === null) throw new Error(`${name} is missing: run \`node scripts/prepare-tests.ts\``)
  return path
}

/**
 * Why tests that need these programs cannot run; false where they can.
 *
 * @throws Error with CI=true, where a missing server is a failure.
 */
export function skipReason(names: readonly Binary['name'][] = ['etcd', 'kube-apiserver']): string | false {
  const missing = missingBinaries(names)
  if (missing.length === 0) return false
  const reason = `THERE IS NO ${missing.join(', NO ').toUpperCase()} FOR THE TESTS ON KUBERNETES: run \`node scripts/prepare-tests.ts\` with Go installed (up to twenty minutes), or set KUBEBUILDER_ASSETS`
  if (process.env.CI === 'true') throw new Error(reason)
  return reason
}

/** Whether Go is installed. */
export function hasGo(): boolean {
  return spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0
}

/**
 * Builds a program into the cache, unless another run does so meanwhile: then waits for that one. Rejects when the
 * build fails; the compiler's words go to the terminal.
 */
export async function buildBinary(name: Binary['name'], say: (message: string) => void): Promise<void> {
  const { module, package: main, ldflags, takes } = binary(name)
  const target = cachedPath(binary(name))
  mkdirSync(dirname(target), { recursive: true })
  const release = await lock(`${target}.lock`, () => {
    if (existsSync(target)) return true
    say(`another run builds ${name} just now: waiting for it`)
    return false
  })
  try {
    if (existsSync(target)) return
    say(`building ${name} into ${target}: about ${takes} where nothing of it is cached, on this machine once`)
    const temporary = `${target}.${process.pid}`
    try {
      await go(['build', '-o', temporary, '-ldflags', ldflags, main], join(MODULES, module))
      renameSync(temporary, target)
    } finally {
      rmSync(temporary, { force: true })
    }
    say(`built ${name}`)
  } finally {
    release()
  }
}

function go(args: readonly string[], cwd: string): Promise<void> {
  const environment = { ...process.env, GOFLAGS: '-p=2', CGO_ENABLED: '0' }
  const child = spawn('nice', ['-n', '19', 'go', ...args], {
    cwd,
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`go ${args[0]} ended with ${code ?? signal}`)),
    )
  })
}

/** Takes a lock that is a folder; `waiting` is told once, and ends the wait by answering true. */
async function lock(path: string, waiting: () => boolean): Promise<() => void> {
  for (let told = false; ; told = true) {
    if (tryLock(path)) {
      const touch = setInterval(() => utimesSync(path, new Date(), new Date()), LOCK_TOUCH_MS)
      return () => {
        clearInterval(touch)
        rmSync(path, { recursive: true, force: true })
      }
    }
    if (!told && waiting()) return () => undefined
    await sleep(LOCK_POLL_MS)
  }
}

function tryLock(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const age = statSync(path, { throwIfNoEntry: false })
  if (age !== undefined && Date.now() - age.mtimeMs > LOCK_STALE_MS)
    rmSync(path, { recursive: true, force: true })
  return false
}

/** In a folder that changes with every version and with our own source. */
function cachedPath({ name, module, version }: Binary): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const sources = ['go.mod', 'go.sum', 'main.go'].map((file) => join(MODULES, module, file))
  const digest = createHash('sha256')
  for (const source of sources) if (existsSync(source)) digest.update(readFileSync(source))
  return join(cache, 'tenure', `${name}-${version}-${digest.digest('hex').slice(0, 8)}`, name)
}

function binary(name: Binary['name']): Binary {
  const found = BINARIES.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no binary ${name}`)
  return found
}

/** Unstamped, the API server refuses some clients. */
function versionFlags(version: string): string {
  const [, major, minor] = KUBERNETES_MAJOR_MINOR.exec(version) ?? []
  const stamps = { gitVersion: version, gitMajor: major, gitMinor: minor }
  return Object.entries(stamps)
    .map(([name, value]) => `-X ${VERSION_FLAGS}.${name}=${value}`)
    .join(' ')
}

function requiredVersion(module: string, path: string): string {
  const text = readFileSync(join(MODULES, module, 'go.mod'), 'utf8')
  const version = new RegExp(`${path.replaceAll('.', '\\.')} (v\\S+)`).exec(text)?.[1]
  if (version === undefined) throw new Error(`go/${module}/go.mod does not require ${path}`)
  return version
}
