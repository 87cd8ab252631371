/** The units for systemd: valid, hardened, and with settings that the sidecar takes. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tenure } from '../support/command.ts'
import { tempFolder } from '../support/temp.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../../deploy/systemd', import.meta.url))
const UNIT = join(folder, 'tenure@.service')
const INSTALLED = '/usr/local/bin/tenure'
/** Tenths: the tool exits with a fault above it. */
const EXPOSURE_MOST = 20
/** All of a shutdown after the drain, promise included. */
const SHUTDOWN_MS = 1_500

const hasTool = spawnSync('systemd-analyze', ['--version']).status === 0
if (!hasTool && process.env.CI === 'true')
  throw new Error('systemd-analyze is missing: install the package systemd')
const skip = hasTool
  ? false
  : 'THERE IS NO systemd-analyze: install the package systemd to have the units checked'

/** A folder of units as an administrator would have it, with `fleet-manager.service` for an application. */
function installedUnits(t: TestContext): string {
  const units = tempFolder()
  t.after(() => units.remove())
  const application = join(units.path, 'fleet-manager.service')
  mkdirSync(`${application}.d`)
  cpSync(UNIT, join(units.path, 'tenure@.service'))
  cpSync(join(folder, 'application.conf'), join(`${application}.d`, 'tenure.conf'))
  writeFileSync(application, `[Service]\nExecStart=${INSTALLED} version\n`)
  // A program has to be where a unit says that it is; the one that is there for certain is this one.
  const files = ['tenure@.service', 'fleet-manager.service', 'fleet-manager.service.d/tenure.conf']
  for (const file of files.map((name) => join(units.path, name))) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(INSTALLED, process.execPath))
  }
  return units.path
}

/** The value that the unit gives to a setting. */
function setting(name: string): string {
  const found = new RegExp(`^${name}=(.*)$`, 'm').exec(readFileSync(UNIT, 'utf8'))
  assert.ok(found?.[1] !== undefined, `the unit does not set ${name}`)
  return found[1]
}

describe('the systemd units', { skip }, () => {
  test('systemd finds nothing to complain of, in the template, in an instance and in the application', async (t) => {
    const units = installedUnits(t)
    for (const name of ['tenure@.service', 'tenure@fleet-manager.service', 'fleet-manager.service']) {
      // An unknown setting is only said, and does not change the exit code.
      const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', join(units, name)])
      assert.equal(stdout + stderr, '', name)
    }
  })

  test('the exposure of the sidecar is below 2.0', async (t) => {
    const flags = ['--offline=true', `--threshold=${EXPOSURE_MOST}`, '--no-pager']
    const { stdout } = await run('systemd-analyze', ['security', ...flags, UNIT])
    const [, exposure] = /exposure level .*: (\d+\.\d+)/.exec(stdout) ?? []
    assert.ok(Number(exposure) < EXPOSURE_MOST / 10, stdout)
    t.diagnostic(`exposure ${exposure}`)
  })
})

test('the example of the settings is one that the sidecar takes', async () => {
  const lines = readFileSync(join(folder, 'tenure.env'), 'utf8').split('\n')
  const given = lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split(/=(.*)/s, 2))
  const { code, stderr, stdout } = await tenure(['config', 'print'], Object.fromEntries(given))
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^require-polls: 30s/m)
})

test('a sidecar is not killed while it drains: the unit waits longer than the drain of the docs and what follows it', () => {
  const [, seconds] = /^(\d+)s$/.exec(setting('TimeoutStopSec')) ?? []
  const docs = readFileSync(join(folder, '../../docs/deploy-systemd.md'), 'utf8')
  const drains = [...docs.matchAll(/TENURE_DRAIN=(\d+)s/g)].map(([, drain]) => Number(drain))
  assert.ok(drains.length > 0, 'the docs show no drain')
  for (const drain of drains) assert.ok(Number(seconds) * 1_000 > drain * 1_000 + SHUTDOWN_MS)
  assert.equal(setting('KillMode'), 'mixed')
})

test('sidecars of one host share the folder of the SQLite store, or each would lead alone', async () => {
  assert.equal(setting('StateDirectory'), 'tenure')
  assert.equal(setting('User'), 'tenure')
  assert.equal(setting('Environment'), 'XDG_STATE_HOME=%S')
})
