import assert from 'node:assert/strict'
import { openSync } from 'node:fs'
import { test } from 'node:test'
import { COMMANDS } from '../../src/cli/commands.ts'
import { SETTING_NAMES, variableName } from '../../src/config/settings.ts'
import { VERSION } from '../../src/version.ts'
import { tenure, tenureInto } from '../support/command.ts'

test('without a command the list of commands is printed, and the exit code says usage', async () => {
  const { code, stdout, stderr } = await tenure([])
  assert.equal(code, 2)
  assert.equal(stdout, '')
  for (const name of Object.keys(COMMANDS)) assert.match(stderr, new RegExp(`^  ${name} `, 'm'))
})

test('the version is that of the package', async () => {
  assert.deepEqual(await tenure(['version']), { code: 0, stdout: `tenure ${VERSION}\n`, stderr: '' })
})

test('the help of run names every flag, its variable and its default', async () => {
  const { code, stdout } = await tenure(['help', 'run'])
  assert.equal(code, 0)
  const flowing = stdout.replaceAll(/\s+/g, ' ')
  for (const name of SETTING_NAMES) {
    assert.ok(flowing.includes(`--${name} `), name)
    assert.ok(flowing.includes(`[${variableName(name)}, default `), name)
  }
  assert.ok(flowing.includes('[TENURE_TTL, default 15s]'))
})

test('each command explains itself', async () => {
  const pages = await Promise.all(
    ['status', 'wait', 'migrate', 'config'].map((name) => tenure([name, '--help'])),
  )
  for (const { code, stdout } of pages) {
    assert.equal(code, 0)
    assert.match(stdout, /^usage: tenure \w+ .*\n\n[\s\S]*Examples\n {2}tenure /)
  }
})

test('usage errors end with 2, one line for each, and say what was probably meant', async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['stauts'], /no command "stauts" \(did you mean status\?\)/],
    [['--ttl', '5s'], /a command comes first/],
    [['help', 'rnu'], /did you mean run\?/],
    [['run', '--tttl', '5s'], /flag --tttl: there is no such flag \(did you mean --ttl\?\)/],
    [['run', '--ttl', '5'], /flag --ttl "5": a number without a unit/],
    [['run', '--ttl', '2s', '--store', 'postgres:'], /2000 ms ≥ 3000 ms/],
    [['run', '--store', 'mysql://u:s3cret@h'], /no store "mysql"/],
    [['run', '--listen', '0.0.0.0:4040'], /--ops-listen/],
    [['status', '--ttl', '5s'], /"tenure status" does not take this flag/],
    [['status', '--json=maybe'], /neither true nor false/],
    [['status', '--listen', '127.0.0.1:0'], /port 0/],
    [['wait'], /give either --leader or --ready/],
    [['wait', '--leader', '--ready'], /give either --leader or --ready/],
    [['wait', '--leader', '--election', 'a', '--election', 'b'], /waits for one election/],
    [['wait', '--ready', '--timeout', '5'], /flag --timeout "5": a number without a unit/],
    [['resign', '--hold-off', '-1s'], /never negative/],
    [['config'], /an action is missing/],
    [['config', 'pritn'], /did you mean print\?/],
    [['config', 'print', '--format', 'toml'], /use yaml, json/],
    [['migrate', '--store', 'mysql:'], /no store "mysql"/],
  ]
  const ended = await Promise.all(cases.map(([argv]) => tenure(argv)))
  for (const [i, { code, stdout, stderr }] of ended.entries()) {
    const [argv = [], message = /$^/] = cases[i] ?? []
    assert.match(stderr, message, argv.join(' '))
    assert.match(stderr, /^(tenure: .+\n)+$/)
    assert.doesNotMatch(stderr, /s3cret|^ {4}at /m)
    assert.equal(stdout, '')
    assert.equal(code, 2, argv.join(' '))
  }
})

test('a bad variable stops run; a command that only asks the sidecar minds its own variables', async () => {
  const environment = { TENURE_TTL: '15', TENURE_LISTEN: '127.0.0.1:1', TENURE_FROB: '1' }
  const run = await tenure(['run'], environment)
  assert.equal(run.code, 2)
  assert.match(run.stderr, /variable TENURE_FROB: .*\n.*variable TENURE_TTL "15"/)
  const status = await tenure(['status'], environment)
  assert.equal(status.code, 1)
  assert.match(status.stderr, /no sidecar answers on http:\/\/127\.0\.0\.1:1 /)
})

test('config print shows values with their origins, and config schema is JSON', async () => {
  const printed = await tenure(['config', 'print', '--ttl', '10s', '--format', 'json'], {
    TENURE_DRAIN: '5s',
  })
  const { settings } = JSON.parse(printed.stdout)
  assert.deepEqual(settings.ttl, { value: '10s', origin: 'flag --ttl' })
  assert.deepEqual(settings.drain, { value: '5s', origin: 'variable TENURE_DRAIN' })
  assert.deepEqual(settings.margin, { value: '2s', origin: 'derived' })
  const schema = JSON.parse((await tenure(['config', 'schema'])).stdout)
  assert.ok(schema.properties.ttl)
})

test('migrate --print writes SQL and asks nobody; SQLite needs no migration', async () => {
  const printed = await tenure(['migrate', '--print', '--store', 'postgres://127.0.0.1:1/x'])
  assert.equal(printed.code, 0)
  assert.match(printed.stdout, /CREATE (SCHEMA|TABLE)/)
  assert.match((await tenure(['migrate', '--store', 'sqlite:'])).stdout, /needs no migration/)
})

test('migrate ends with 4 when the database cannot be reached, and does not show the password', async () => {
  const { code, stderr } = await tenure(['migrate', '--store', 'postgres://u:s3cret@127.0.0.1:1/x'])
  assert.equal(code, 4)
  assert.match(stderr, /^tenure: .*ECONNREFUSED.*\n$/)
  assert.doesNotMatch(stderr, /s3cret/)
})

test('the stack is for those who debug', async () => {
  const argv = ['migrate', '--store', 'postgres://127.0.0.1:1/x']
  assert.match((await tenure(argv, { TENURE_LOG_LEVEL: 'debug' })).stderr, /^ {4}at /m)
  assert.doesNotMatch((await tenure(argv)).stderr, /^ {4}at /m)
})

const FULL_DISK = process.platform === 'linux' ? false : 'there is no /dev/full here'

test('output that cannot be written is a fault; a reader that went away is none', {
  skip: FULL_DISK,
}, async () => {
  const full = await tenureInto(['help', 'run'], openSync('/dev/full', 'w'))
  assert.equal(full.code, 1)
  assert.match(full.stderr, /^tenure: standard output cannot be written: ENOSPC.*\n$/)
  assert.deepEqual(await tenureInto(['help', 'run'], 'gone'), { code: 0, stderr: '' })
})
