import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfigFile } from '../../src/config/file.ts'
import { loadWithSources } from '../../src/config/load.ts'
import { Merged } from '../../src/config/merge.ts'
import { describeConfig, printJson, printYaml } from '../../src/config/print.ts'
import { redactUrl } from '../../src/config/redact.ts'
import { configSchema } from '../../src/config/schema.ts'
import { suggest } from '../../src/config/suggest.ts'
import { runFlags } from '../support/config.ts'

const FULL =
  '--store postgres://u:s3cret@h/db --store-password s3cret --election a --election b --ttl 10s --margin 2s --app-health http://x:s3cret@127.0.0.1:1/ --observer --ops-listen [::]:9090'

async function printed(line: string, environment = {}) {
  const { config, merged } = await loadWithSources({ flags: runFlags(line), environment })
  const rows = describeConfig(config, merged)
  return { config, yaml: printYaml(rows, config.warnings), json: printJson(rows, config.warnings) }
}

test('what is printed holds no secret in any form', async () => {
  const { yaml, json } = await printed(FULL)
  assert.doesNotMatch(yaml + json, /s3cret/)
  assert.match(yaml, /^# store-password: \(redacted\) +# flag --store-password$/m)
})

test('each value is printed with its origin, and derived timing says so', async () => {
  const { yaml, json } = await printed('--ttl 10s', { TENURE_DRAIN: '20s' })
  assert.match(yaml, /^ttl: 10s +# flag --ttl$/m)
  assert.match(yaml, /^drain: 20s +# variable TENURE_DRAIN$/m)
  assert.match(yaml, /^margin: 2s +# derived$/m)
  assert.match(yaml, /^# ops-listen: none +# default$/m)
  assert.deepEqual(JSON.parse(json).settings.margin, { value: '2s', origin: 'derived' })
})

test('what is printed as YAML, read as a file, gives the same configuration', async () => {
  const line = FULL.replaceAll('s3cret@', '')
    .replaceAll('u:', '')
    .replaceAll('x:', '')
    .replace('--store-password s3cret', '')
  const { config, yaml } = await printed(line)
  const source = await readConfigFile('t.yaml', yaml)
  assert.deepEqual(source.faults, [])
  const again = await loadWithSources({ flags: source, environment: {} })
  assert.deepEqual(again.config.values, config.values)
  assert.deepEqual(again.config.timing, config.timing)
})

test('the JSON Schema and the loader agree on which files are well formed', async () => {
  const schema = z.fromJSONSchema(configSchema() as Parameters<typeof z.fromJSONSchema>[0])
  const agreed = async (text: string): Promise<boolean> => {
    const merged = new Merged([await readConfigFile('t.yaml', text)])
    for (const name of ['ttl', 'election', 'listen', 'observer', 'log-level', 'ops-listen'] as const)
      merged.list(name)
    const loads = merged.faults.length === 0
    assert.equal(schema.safeParse(parse(text) ?? {}).success, loads, text)
    return loads
  }
  for (const text of [
    '',
    '{}',
    'ttl: 15s',
    'ttl: 0',
    'election: [a, b]',
    'election: a',
    'observer: true',
    'ops-listen: none',
  ]) {
    assert.ok(await agreed(text), text)
  }
  for (const text of [
    'ttl: 15',
    'ttls: 15s',
    'election: []',
    'election: 3',
    'observer: "true"',
    'log-level: loud',
    'config: x',
    'listen: x',
    'ttl: [1s]',
  ]) {
    assert.ok(!(await agreed(text)), text)
  }
})

test('passwords in URLs are redacted, whatever stands in them', () => {
  const cases = {
    'postgres://u:p@h/db': 'postgres://u:***@h/db',
    'postgres://u:p@ss/w:rd@h1:5432,h2/db': 'postgres://u:***@h1:5432,h2/db',
    'postgres://:p@h/db': 'postgres://:***@h/db',
    'postgres://u@h:5432/db': 'postgres://u@h:5432/db',
    'postgres://h/db?user=u&password=p%40&sslmode=require':
      'postgres://h/db?user=u&password=***&sslmode=require',
    'postgres://h/db?sslPassword=p#x': 'postgres://h/db?sslPassword=***#x',
    'sqlite:/var/lib/tenure.db': 'sqlite:/var/lib/tenure.db',
  }
  for (const [url, redacted] of Object.entries(cases)) assert.equal(redactUrl(url), redacted)
})

test('only what is near is suggested', () => {
  const words = ['listen', 'election', 'ttl']
  assert.equal(suggest('lisetn', words), 'listen')
  assert.equal(suggest('tll', words), 'ttl')
  assert.equal(suggest('elections', words), 'election')
  assert.equal(suggest('password', words), null)
  assert.equal(suggest('', words), null)
})
