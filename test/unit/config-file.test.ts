import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfigFile } from '../../src/config/file.ts'

async function faults(text: string): Promise<string> {
  const source = await readConfigFile('t.yaml', text)
  assert.notEqual(source.faults.length, 0, `accepted: ${text}`)
  return source.faults.map(({ where, rule }) => `${where}: ${rule}`).join('\n')
}

async function texts(text: string): Promise<Record<string, readonly string[]>> {
  const source = await readConfigFile('t.yaml', text)
  assert.deepEqual(source.faults, [])
  return Object.fromEntries([...source.written].map(([name, all]) => [name, all.map((one) => one.text)]))
}

test('scalars and lists are taken as they were written', async () => {
  assert.deepEqual(
    await texts('election: [a, "b c"]\nobserver: true\ndrain: 0\nttl: 15s\napp-health-failures: 5'),
    {
      election: ['a', 'b c'],
      observer: ['true'],
      drain: ['0'],
      ttl: ['15s'],
      'app-health-failures': ['5'],
    },
  )
  assert.deepEqual(await texts('election: one'), { election: ['one'] })
  assert.deepEqual(await texts('{"ttl": "15s", "election": ["a"]}'), { ttl: ['15s'], election: ['a'] })
})

test('a file without settings is no fault', async () => {
  assert.deepEqual(await texts(''), {})
  assert.deepEqual(await texts('# nothing yet\n'), {})
  assert.deepEqual(await texts('{}'), {})
})

test('a large number keeps its digits', async () => {
  assert.deepEqual(await texts('generation-floor: 9007199254740993'), {
    'generation-floor': ['9007199254740993'],
  })
})

test('what is not YAML is refused with its line and column', async () => {
  assert.match(await faults('ttl: 15s\nelection: [a\n'), /^file t\.yaml:\d:\d+: this is not YAML/)
  assert.match(await faults('ttl: 15s\nttl: 16s\n'), /^file t\.yaml:2:1: .*unique/)
  assert.match(await faults('ttl: 15s\n---\nttl: 16s\n'), /this is not YAML/)
  assert.match(await faults('ttl: !!js/function x'), /this is not YAML/)
})

test('what is no mapping is refused', async () => {
  assert.match(await faults('- ttl'), /not a mapping/)
  assert.match(await faults('ttl'), /not a mapping/)
})

test('values of another type are refused where they stand', async () => {
  assert.match(
    await faults('ttl: 15s\nidentity: 12'),
    /^file t\.yaml:2:11: the value of identity is not of its type/,
  )
  assert.match(await faults('observer: "true"'), /not of its type/)
  assert.match(await faults('observer: yes'), /not of its type/)
  assert.match(await faults('ttl: [15s]'), /not of its type/)
  assert.match(await faults('ttl: {s: 15}'), /not of its type/)
  assert.match(await faults('election: [a, [b]]'), /not of its type/)
  assert.match(await faults('identity: &x a\nelection: *x'), /not of its type/)
})

test('an empty value or list is refused', async () => {
  assert.match(await faults('ops-listen:'), /ops-listen has no value/)
  assert.match(await faults('ops-listen: null'), /ops-listen has no value/)
  assert.match(await faults('election: []'), /empty list/)
})

test('the file cannot name another file, nor keys in another spelling', async () => {
  assert.match(await faults('config: other.yaml'), /there is no key "config"/)
  assert.match(await faults('renewEvery: 5s'), /there is no key "renewEvery" \(did you mean renew-every\?\)/)
  assert.match(await faults('toString: 5s'), /there is no key "toString"/)
})
