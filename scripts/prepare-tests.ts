/**
 * Prepares what the tests need beyond npm's packages: pgbouncer, and the programs of a Kubernetes cluster. Finds
 * them, or installs and builds them where that is possible, else says which tests will be skipped. Quick when
 * nothing is missing; never fails a run.
 */
import { spawnSync } from 'node:child_process'
import { userInfo } from 'node:os'
import { buildBinary, hasGo, missingBinaries } from '../test/support/kubernetes/binaries.ts'
import { findPgbouncer } from '../test/support/pgbouncer.ts'

const APT_TIMEOUT_MS = 180_000

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

function install(): boolean {
  const packages = ['install', '--yes', '--no-install-recommends', 'pgbouncer']
  return apt(...packages) || (apt('update') && apt(...packages))
}

function canInstall(): boolean {
  return userInfo().uid === 0 && spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0
}

if ((await findPgbouncer()) === null) {
  if (canInstall()) install()
  const path = await findPgbouncer()
  if (path === null)
    say('THERE IS NO PGBOUNCER: its tests are SKIPPED. Install the package pgbouncer to run them.')
  else say(`installed ${path}`)
}

/** Builds what is missing of the Kubernetes programs: about ten minutes, once on a machine. */
async function buildKubernetes(): Promise<void> {
  const missing = missingBinaries()
  if (missing.length === 0) return
  if (!hasGo()) {
    say(
      `THERE IS NO ${missing.join(', NO ').toUpperCase()}: the tests that need them are SKIPPED. Install Go to have them built, or set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd.`,
    )
    return
  }
  say(`building ${missing.join(', ')} from source: some ten minutes, once on this machine`)
  for (const name of missing) await buildBinary(name, say)
}

await buildKubernetes().catch((error: Error) => {
  say(`THE KUBERNETES PROGRAMS WERE NOT BUILT, their tests are SKIPPED: ${error.message}`)
})
