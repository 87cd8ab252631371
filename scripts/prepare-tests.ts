/**
 * Prepares what the tests need beyond npm's packages: pgbouncer. Finds it, or installs Debian's package where
 * that is possible, else says which tests will be skipped. Quick when nothing is missing; never fails a run.
 */
import { spawnSync } from 'node:child_process'
import { userInfo } from 'node:os'
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
