/**
 * Prepares what the tests need beyond npm's packages: programs of the system, and those of a Kubernetes cluster with
 * its tools. Finds them, or installs and builds them where that is possible, else says which tests will be skipped.
 * Quick when nothing is missing; never fails a run.
 */
import { spawnSync } from 'node:child_process'
import { userInfo } from 'node:os'
import { buildBinary, hasGo, missingBinaries } from '../test/support/kubernetes/binaries.ts'
import { findPgbouncer } from '../test/support/pgbouncer.ts'

const APT_TIMEOUT_MS = 600_000

function say(message: string): void {
  process.stderr.write(`prepare-tests: ${message}\n`)
}

/** Runs apt-get, and tells whether it succeeded. */
function apt(...args: readonly string[]): boolean {
  say(`apt-get ${args.join(' ')}`)
  const { status, error, stderr } = spawnSync('apt-get', [...args], {
    timeout: APT_TIMEOUT_MS,
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status === 0) return true
  say(`apt-get ${args[0]} did not succeed: ${error?.message ?? stderr.trim()}`)
  return false
}

/** A program that the system's packages bring. */
interface Tool {
  readonly name: string
  /** Debian's. */
  readonly package: string
  find(): Promise<boolean> | boolean
}

const TOOLS: readonly Tool[] = [
  { name: 'pgbouncer', package: 'pgbouncer', find: async () => (await findPgbouncer()) !== null },
  { name: 'psql', package: 'postgresql-client', find: () => runs('psql') },
  { name: 'wget', package: 'wget', find: () => runs('wget') },
  { name: 'systemd-analyze', package: 'systemd', find: () => runs('systemd-analyze') },
  { name: 'chromium', package: 'chromium', find: () => runs('chromium') },
  { name: 'promtool', package: 'prometheus', find: () => runs('promtool') },
]

function runs(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0
}

async function missingTools(): Promise<readonly Tool[]> {
  const found = await Promise.all(TOOLS.map((tool) => tool.find()))
  return TOOLS.filter((_, index) => !found[index])
}

function install(names: readonly string[]): boolean {
  const packages = ['install', '--yes', '--no-install-recommends', ...names]
  return apt(...packages) || (apt('update') && apt(...packages))
}

function canInstall(): boolean {
  return userInfo().uid === 0 && runs('apt-get')
}

async function prepareTools(): Promise<void> {
  const missing = await missingTools()
  if (missing.length === 0) return
  const packages = missing.map((tool) => tool.package)
  // One that cannot be had must not keep the others away.
  if (canInstall() && !install(packages)) for (const one of packages) install([one])
  for (const { name, package: from } of await missingTools()) {
    say(`THERE IS NO ${name.toUpperCase()}: its tests are SKIPPED. Install the package ${from} to run them.`)
  }
}

/** Builds what is missing of the Kubernetes programs: about twenty minutes, once on a machine. */
async function buildKubernetes(): Promise<void> {
  const missing = missingBinaries()
  if (missing.length === 0) return
  if (!hasGo()) {
    say(
      `THERE IS NO ${missing.join(', NO ').toUpperCase()}: the tests that need them are SKIPPED. Install Go to have them built, or set KUBEBUILDER_ASSETS to a folder that has them.`,
    )
    return
  }
  say(`building ${missing.join(', ')} from source: up to twenty minutes, once on this machine`)
  for (const name of missing) await buildBinary(name, say)
}

await prepareTools()
await buildKubernetes().catch((error: Error) => {
  say(`THE KUBERNETES PROGRAMS WERE NOT BUILT, their tests are SKIPPED: ${error.message}`)
})
