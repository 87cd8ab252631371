import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { faultOf, faultsOf, load } from '../support/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenure-config-'))
after(() => rmSync(folder, { recursive: true }))

function file(text: string, name = 'tenure.yaml'): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test('without any setting the defaults hold and the timing is derived', async () => {
  const { values, timing, origins, warnings } = await load()
  assert.equal(values.store.url, 'sqlite:')
  assert.deepEqual(values.elections, ['default'])
  assert.equal(values.identity, hostname())
  assert.deepEqual(values.listen, { host: '127.0.0.1', port: 4040 })
  assert.equal(values.drainMs, 0)
  assert.equal(timing.ttlMs, 15_000)
  assert.equal(timing.marginMs, 3_000)
  assert.equal(origins.ttl.kind, 'default')
  assert.equal(origins.margin.kind, 'derived')
  assert.deepEqual(warnings, [])
})

test('a flag comes before a variable, a variable before the file, the file before the default', async () => {
  const path = file('ttl: 30s\nmargin: 5s\npromise: 900ms\n')
  const environment = { TENURE_CONFIG: path, TENURE_TTL: '20s', TENURE_MARGIN: '4s' }
  const { timing, origins, values } = await load('--ttl 10s', environment)
  assert.equal(timing.ttlMs, 10_000)
  assert.equal(origins.ttl.text, 'flag --ttl')
  assert.equal(timing.marginMs, 4_000)
  assert.equal(origins.margin.text, 'variable TENURE_MARGIN')
  assert.equal(timing.promiseMs, 900)
  assert.equal(origins.promise.text, `file ${path}:3:10`)
  assert.equal(origins.backoff.text, 'derived')
  assert.equal(origins['log-level'].text, 'default')
  assert.equal(values.configFile, path)
})

test('the file named by a flag is read rather than the one named by a variable', async () => {
  const environment = { TENURE_CONFIG: file('ttl: 30s\n', 'other.yaml') }
  const { timing } = await load(['--config', file('ttl: 20s\n')], environment)
  assert.equal(timing.ttlMs, 20_000)
})

test('the elections of the nearest source stand alone, whatever the others list', async () => {
  const environment = { TENURE_ELECTION: 'c, d', TENURE_CONFIG: file('election: [e, f]\n') }
  assert.deepEqual((await load('--election a --election=b', environment)).values.elections, ['a', 'b'])
  assert.deepEqual((await load('', environment)).values.elections, ['c', 'd'])
  const { TENURE_CONFIG } = environment
  assert.deepEqual((await load('', { TENURE_CONFIG })).values.elections, ['e', 'f'])
})

test('the identity is the pod name where there is one', async () => {
  const { values, origins } = await load('', { POD_NAME: 'web-1' })
  assert.equal(values.identity, 'web-1')
  assert.match(origins.identity.text, /POD_NAME/)
  assert.equal((await load('--identity x', { POD_NAME: 'web-1' })).values.identity, 'x')
})

test('none takes an optional setting back', async () => {
  const path = file('app-health: http://127.0.0.1:8080/\nrequire-polls: 30s\n')
  const { values } = await load(['--config', path, '--app-health', 'none'])
  assert.equal(values.appHealth, null)
  assert.equal(values.requirePollsMs, 30_000)
})

test('the store URL is read from the file that --store-file names, without the line end', async () => {
  const path = file('postgres://u@h/db\n', 'url')
  const { values, origins } = await load('', { TENURE_STORE_FILE: path })
  assert.equal(values.store.url, 'postgres://u@h/db')
  assert.equal(origins.store.text, 'variable TENURE_STORE_FILE')
})

test('of a secret and the file that holds it the nearer source wins, and a tie is a fault', async () => {
  const both = { TENURE_STORE_PASSWORD_FILE: '/run/secrets/db' }
  const direct = (await load('--store-password pw', both)).values.store
  assert.deepEqual([direct.password, direct.passwordFile], ['pw', null])
  const fromFile = (await load('--store-password-file /p', { TENURE_STORE_PASSWORD: 'pw' })).values.store
  assert.deepEqual([fromFile.password, fromFile.passwordFile], [null, '/p'])
  assert.match(await faultOf('', { ...both, TENURE_STORE_PASSWORD: 'pw' }), /both say the same thing/)
  assert.match(await faultOf('--store sqlite:x --store-file /y'), /--store and flag --store-file/)
})

test('a password on the command line is warned of', async () => {
  assert.match((await load('--store-password pw')).warnings.join(), /TENURE_STORE_PASSWORD_FILE/)
  assert.deepEqual((await load('', { TENURE_STORE_PASSWORD: 'pw' })).warnings, [])
})

test('variables of others under the prefix are let be', async () => {
  await load('', {
    TENURE_GENERATION: '7',
    TENURE_SESSION: 'x',
    TENURE_TEST_POSTGRES_URL: 'postgres:',
    TENURE_SERVICE_HOST: '10.0.0.1',
    TENURE_SERVICE_PORT_HTTP: '80',
    TENURE_PORT: 'tcp://10.0.0.1:80',
    TENURE_PORT_80_TCP_ADDR: '10.0.0.1',
    TENURE_API_PORT: 'tcp://10.0.0.1:80',
  })
})

test('unknown flags, variables and keys are refused, with what was probably meant', async () => {
  assert.match(await faultOf('--elction x'), /^flag --elction: .*did you mean --election\?/)
  assert.match(await faultOf('', { TENURE_ELECTON: 'x' }), /^variable TENURE_ELECTON: .*TENURE_ELECTION\?/)
  const path = file('# settings\nelecton: x\n')
  const fault = await faultOf(['--config', path])
  assert.ok(fault.startsWith(`file ${path}:2:1: there is no key "electon" (did you mean election?)`), fault)
  assert.doesNotMatch(await faultOf('--zzzzzzzz'), /did you mean/)
  assert.match(await faultOf('', { TENURE_PORT: '4040' }), /no such setting/)
})

test('all faults are told at once, each with its place', async () => {
  const path = file('ttl: 15\nlog-level: loud\n')
  const faults = await faultsOf(['--config', path, '--listen', 'x', 'extra', '--frob'], {
    TENURE_DRAIN: 'soon',
  })
  const places = faults.map(({ where }) => where)
  assert.deepEqual(places, [
    'flag --frob',
    'argument "extra"',
    'flag --listen "x"',
    'variable TENURE_DRAIN "soon"',
    `file ${path}:2:12: log-level "loud"`,
    `file ${path}:1:6: ttl "15"`,
  ])
})

test('bad values are refused by the rule that they break', async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['--ttl', '15'], /without a unit/],
    [['--drain', '-1s'], /never negative/],
    [['--ttl'], /needs a value/],
    [['--ttl', '--observer'], /needs a value/],
    [['--margin', '--promise', '3s'], /--margin: this flag needs a value/],
    [['--observer=maybe'], /neither true nor false/],
    [['--log-level', 'infi'], /did you mean info\?/],
    [['--app-health-failures', '0'], /whole number from 1/],
    [['--generation-floor', '9007199254740991'], /whole number from 0 to 9007199254740990/],
    [['--generation-floor', '1e3'], /whole number/],
    [['--app-health', 'ftp://x'], /not an http or https URL/],
    [['--app-health', 'http://'], /not an http or https URL/],
    [['--require-polls', '10ms'], /require-polls ≥ 1000 ms does not hold: 10 ms/],
    [['--ops-listen', '127.0.0.1:4040'], /cannot listen on one address/],
    [['--config', '/nowhere/tenure.yaml'], /cannot be read: ENOENT/],
    [['--config', folder], /cannot be read/],
    [['--store-file', '/nowhere/url'], /cannot be read: ENOENT/],
    [['--store', ''], /never empty/],
    [['-x'], /no such flag/],
    [['now'], /no such argument/],
  ]
  for (const [line, rule] of cases) assert.match(await faultOf(line), rule, line.join(' '))
})

test('names that are empty, too long, padded, broken or hold control characters are refused', async () => {
  for (const flag of ['--election', '--identity']) {
    assert.match(await faultOf([flag, '']), /never empty/)
    assert.match(await faultOf([flag, 'x'.repeat(201)]), /200 characters at most, and this one has 201/)
    assert.match(await faultOf([flag, 'a\u0007b']), /no control characters/)
    assert.match(await faultOf([flag, 'a\nb']), /no control characters/)
    assert.match(await faultOf([flag, ' a']), /neither begins nor ends with a space/)
    assert.match(await faultOf([flag, '\ud800']), /well-formed/)
  }
  const { values } = await load(['--election', '🦊'.repeat(200), '--identity', 'web 1, zone a'])
  assert.equal([...(values.elections[0] ?? '')].length, 200)
})

test('an election that is named twice is refused', async () => {
  assert.match(await faultOf('--election a --election b --election a'), /"a" is named twice/)
})

test('the API listens on loopback only, and the refusal points at --ops-listen', async () => {
  for (const address of ['0.0.0.0:4040', '[::]:4040', '10.0.0.1:4040', 'example.org:4040']) {
    assert.match(await faultOf(['--listen', address]), /loopback only.*--ops-listen/, address)
  }
  for (const address of [
    '127.0.0.1:0',
    '127.9.9.9:1',
    '[::1]:4040',
    '[0:0::1]:65535',
    'localhost:4040',
    'LOCALHOST:1',
  ]) {
    await load(['--listen', address])
  }
  assert.deepEqual((await load('--ops-listen [::]:9090')).values.opsListen, { host: '::', port: 9090 })
})

test('addresses that are none are refused', async () => {
  const rules = /not an address|IPv6 address|neither an IP address nor|a port is/
  for (const text of [
    '',
    '4040',
    ':4040',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '::1:4040',
    '[::1]',
    '[x]:1',
    '1.2.3:4',
    '127.0.0.1:4040/',
    'a b:1',
  ]) {
    assert.match(await faultOf(['--listen', text]), rules, JSON.stringify(text))
  }
})

test('an unknown store scheme is refused without showing the password', async () => {
  assert.match(await faultOf('--store postgre://u:pw@h/db'), /no store "postgre" \(did you mean postgres\?\)/)
  const fault = await faultOf('--store u:s3cret@h/db')
  for (const url of ['//u:s3cret@h/db', 'my_user:s3cret@h/db']) {
    assert.doesNotMatch(await faultOf(['--store', url]), /s3cret/)
  }
  assert.match(fault, /use sqlite:PATH/)
  assert.match(await faultOf('--store constructor:x'), /no store "constructor"/)
})

test('a broken inequality is named with its numbers, its origins and a remedy', async () => {
  const fault = await faultOf('--ttl 10s --renew-every 7s --attempt-timeout 1s', { TENURE_BACKOFF: '500ms' })
  assert.match(fault, /^flag --ttl, flag --renew-every, flag --attempt-timeout, variable TENURE_BACKOFF: /)
  assert.match(
    fault,
    /renew-every \+ 2 × attempt-timeout \+ backoff ≤ ttl − margin does not hold: 7000 \+ 2 × 1000/,
  )
  assert.match(fault, /set a longer --ttl/)
  assert.match(await faultOf('--promise 1100ms'), /promise ≤ 1000 ms does not hold/)
  assert.match(await faultOf('--margin 5ms'), /margin ≥ 10 ms does not hold/)
  assert.match((await faultsOf('--margin 15s')).map(({ rule }) => rule).join(), /margin < ttl/)
})

test('the least ttl is that of the store', async () => {
  assert.match(await faultOf('--ttl 999ms'), /999 ms ≥ 1000 ms/)
  await load('--ttl 1s')
  assert.match(await faultOf('--ttl 2s --store postgres:'), /2000 ms ≥ 3000 ms/)
  assert.match(await faultOf('--ttl 2s --store POSTGRESQL://h/db'), /2000 ms ≥ 3000 ms/)
  await load('--ttl 3s --store postgres:')
  assert.match(await faultOf('--ttl 0'), /0 ms ≥ 1000 ms/)
})

test('a Kubernetes Lease keeps whole seconds: another ttl stops the start', async () => {
  const fault = await faultOf('--store kubernetes: --ttl 10500ms')
  assert.match(fault, /multiple of 1000 ms on this store: it is 10500 ms/)
  assert.match(fault, /whole seconds/)
  assert.equal((await load('--store postgres: --ttl 10500ms')).timing.ttlMs, 10_500)
})

test('a ttl below 10 s on Kubernetes is warned of, and one below 3 s stops the start', async () => {
  const { warnings } = await load('--store kubernetes://ops --ttl 9s')
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /9000 ms is short.*10s or more/)
  assert.deepEqual((await load('--store kubernetes://ops --ttl 10s')).warnings, [])
  assert.deepEqual((await load('--store postgres: --ttl 9s')).warnings, [])
  assert.match(await faultOf('--store kubernetes: --ttl 2s'), /ttl/)
})
