import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClientOptions, TenureClient } from '../../src/client/index.ts'

const BAD: readonly (readonly [string, unknown, RegExp])[] = [
  ['no URL', { url: '127.0.0.1:4040' }, /url "127\.0\.0\.1:4040": .*; give one like "http:/],
  ['https', { url: 'https://127.0.0.1:4040' }, /url .*plain http; give/],
  ['another host', { url: 'http://10.0.0.7:4040' }, /url .*loopback.*; give/],
  ['a host that only begins like the loopback', { url: 'http://127.0.0.1.example:4040' }, /loopback/],
  ['a path', { url: 'http://127.0.0.1:4040/v1' }, /url .*host and port alone; give/],
  ['credentials', { url: 'http://a:b@127.0.0.1:4040' }, /host and port alone/],
  ['an empty election', { election: '' }, /election "": it must be a name; give/],
  ['an election that is no text', { election: 7 }, /election 7: it must be a name; give/],
  ['a time-out of zero', { timeoutMs: 0 }, /timeoutMs 0: .*whole number.*; give/],
  ['a time-out with a fraction', { timeoutMs: 0.5 }, /timeoutMs 0\.5/],
  ['a time-out that is no number', { timeoutMs: '500' }, /timeoutMs "500"/],
  ['a misspelt option', { timeout: 500 }, /timeout: there is no such option; give .*timeoutMs/],
]

for (const [what, options, message] of BAD) {
  test(`an option at fault is a TypeError that names it, the rule and the remedy: ${what}`, () => {
    assert.throws(() => new TenureClient(options as ClientOptions), { name: 'TypeError', message })
  })
}

for (const url of ['http://127.0.0.1:4040/', 'http://localhost:80', 'http://[::1]:4040', undefined]) {
  test(`a URL of the loopback is taken: ${url}`, () => {
    assert.doesNotThrow(() => new TenureClient({ url, election: undefined, timeoutMs: undefined }))
  })
}
