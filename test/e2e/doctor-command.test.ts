/** The command as people and programs meet it, beside real sidecars. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, beforeEach, describe, type TestContext, test } from 'node:test'
import type { Check } from '../../src/cli/doctor/check.ts'
import { VERSION } from '../../src/version.ts'
import { tenure } from '../support/command.ts'
import { type SidecarProcess, sidecar } from '../support/sidecar.ts'
import { leadership, StandIn } from '../support/stand-in.ts'
import { tempFolder } from '../support/temp.ts'

const temp = tempFolder()
after(() => temp.remove())
let path = ''
let count = 0
beforeEach(() => {
  path = join(temp.path, `lease-${++count}.db`)
})

const store = () => ['--store', `sqlite:${path}`]

/** A sidecar on the file of the test. */
function start(t: TestContext, identity: string): Promise<SidecarProcess> {
  return sidecar(t, identity, store())
}

async function checksOf(argv: readonly string[]): Promise<{ code: number | null; checks: readonly Check[] }> {
  const { code, stdout } = await tenure(['doctor', '--json', ...store(), ...argv])
  const body = JSON.parse(stdout) as { version: string; checks: readonly Check[] }
  assert.equal(body.version, VERSION)
  return { code, checks: body.checks }
}

function named(checks: readonly Check[], name: string): string {
  const found = checks.filter((check) => check.name === name)
  return found.map(({ status, found: text }) => `${status}: ${text}`).join('\n')
}

describe('what people read', () => {
  test('is one line for each check, and below a fault the rule, the remedy and what to paste', async () => {
    const { code, stdout, stderr } = await tenure(
      ['doctor', ...store(), '--listen', '127.0.0.1:0', '--drain', '30s', '--grace-period', '30s'],
      { TENURE_LOG_FORMAT: 'json' },
    )
    assert.equal(stderr, '')
    assert.match(
      stdout,
      /^fault {4}grace period: drain 30000 \+ 1500 = 31500 ms ≤ 30000 ms does not hold\n {9}rule: .+\n {9}remedy: set terminationGracePeriodSeconds: 32 .+\n {9}paste behind the other flags:\n {11}--drain 28500ms\n/m,
    )
    assert.match(stdout, /^ok {7}content: .* is not there yet/m)
    assert.match(stdout, /\n\n1 fault, \d+ ok, 1 skipped\n$/)
    assert.equal(code, 2)
  })

  test('without a fault ends with 0', async () => {
    const { code, stdout } = await tenure([
      'doctor',
      ...store(),
      '--listen',
      '127.0.0.1:0',
      '--grace-period',
      '2s',
    ])
    assert.match(stdout, /\n\n\d+ ok, 1 skipped\n$/)
    assert.equal(code, 0)
  })

  test('never holds a password', async () => {
    const { stdout, stderr } = await tenure([
      'doctor',
      '--store',
      'postgres://a:s3cret@127.0.0.1:1/b',
      '--listen',
      '127.0.0.1:0',
    ])
    assert.match(stdout, /^fault {4}server: 127\.0\.0\.1:1: .*ECONNREFUSED/m)
    assert.doesNotMatch(stdout + stderr, /s3cret/)
  })

  test('a wrong value of its own flag is a usage error', async () => {
    const { code, stderr } = await tenure(['doctor', '--grace-period', '30'])
    assert.equal(code, 2)
    assert.match(stderr, /^tenure: flag --grace-period "30": a number without a unit/)
  })

  test('of several faults of the settings each is told', async () => {
    const { code, checks } = await checksOf(['--ttl', '15', '--log-level', 'loud'])
    assert.equal(code, 2)
    assert.match(named(checks, 'settings'), /^fault: flag --log-level "loud"\nfault: flag --ttl "15"$/)
    assert.match(named(checks, 'store'), /^skipped/)
  })
})

describe('beside a sidecar', () => {
  test('it is known by its identity, its version, and the lease that it holds', async (t) => {
    const one = await start(t, 'web-1')
    await one.leads()
    const { code, checks } = await checksOf(['--listen', `127.0.0.1:${one.port}`, '--identity', 'web-1'])
    assert.match(named(checks, 'listen'), /^ok: the sidecar "web-1" answers/)
    assert.match(named(checks, 'version'), /^ok: .* as this program$/)
    assert.match(named(checks, 'twin'), /^ok: .*held by the sidecar that answers here$/)
    assert.equal(code, 0)
    assert.equal((await one.leadership())?.leading, true)
  })

  test('one of another identity has taken the address', async (t) => {
    const one = await start(t, 'web-1')
    const { code, checks } = await checksOf(['--listen', `127.0.0.1:${one.port}`, '--identity', 'web-2'])
    assert.match(named(checks, 'listen'), /^fault: cannot listen .*the sidecar "web-1" listens there$/)
    assert.equal(code, 1)
  })

  test('a holder of its name that it is not is a twin', async (t) => {
    const holder = await start(t, 'web-1')
    await holder.leads()
    const follower = await start(t, 'web-1')
    const { code, checks } = await checksOf(['--listen', `127.0.0.1:${follower.port}`, '--identity', 'web-1'])
    assert.match(
      named(checks, 'twin'),
      /^fault: .*the sidecar of that name here is following, and not the holder$/,
    )
    assert.equal(code, 1)
  })

  test('one of another version is a warning', async (t) => {
    const metrics = 'tenure_build_info{version="9.9.9",node="v24",store="sqlite"} 1\n'
    const other = new StandIn(({ url }) => ({ body: url.pathname === '/metrics' ? metrics : leadership() }))
    t.after(() => other.stop())
    const { code, checks } = await checksOf(['--listen', await other.start(), '--identity', 'web-1'])
    assert.match(named(checks, 'version'), /^warning: .* version 9\.9\.9, and this program/)
    assert.equal(code, 0)
    for (const { method, url } of other.asked)
      assert.equal(`${method} ${url.searchParams.get('wait') ?? '0'}`, 'GET 0')
  })
})
