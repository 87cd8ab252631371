import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkTiming, deriveTiming, TTL_MOST_MS } from '../../src/election/timing.ts'

test('the defaults are those of the documentation', () => {
  assert.deepEqual(deriveTiming({ ttlMs: 15_000 }), {
    ttlMs: 15_000,
    marginMs: 3_000,
    renewEveryMs: 7_500,
    attemptTimeoutMs: 1_875,
    backoffMs: 375,
    promiseMs: 1_000,
    holdOffMs: 7_500,
  })
})

test('every ttl that a store can keep derives a sound timing', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: TTL_MOST_MS }), (ttlMs) => {
      assert.deepEqual(checkTiming(deriveTiming({ ttlMs }), 1_000), [])
    }),
  )
})

test('what is set is kept, and what follows from it is derived from it', () => {
  const timing = deriveTiming({ ttlMs: 12_000, marginMs: 1_000, renewEveryMs: 5_000 })
  assert.deepEqual([timing.attemptTimeoutMs, timing.backoffMs], [2_500, 500])
})

for (const [what, set, rule] of [
  ['a ttl below what the store can keep', { ttlMs: 900 }, 'ttl ≥ the least ttl of the store'],
  ['a ttl of days', { ttlMs: TTL_MOST_MS + 1 }, 'ttl ≤ 24 h'],
  ['a margin as long as the ttl', { ttlMs: 5_000, marginMs: 5_000 }, 'margin < ttl'],
  ['a margin that hides no drift', { ttlMs: 5_000, marginMs: 9 }, 'margin ≥ 10 ms'],
  [
    'attempts that do not fit',
    { ttlMs: 5_000, attemptTimeoutMs: 1_000 },
    'renew-every + 2 × attempt-timeout + backoff ≤ ttl − margin',
  ],
  [
    'a back-off that does not fit',
    { ttlMs: 5_000, backoffMs: 900 },
    'renew-every + 2 × attempt-timeout + backoff ≤ ttl − margin',
  ],
  ['a promise that a shutdown cannot outwait', { ttlMs: 15_000, promiseMs: 1_001 }, 'promise ≤ 1000 ms'],
  ['a promise of nothing', { ttlMs: 15_000, promiseMs: 0 }, 'promise ≥ 1 ms'],
  [
    'a promise beyond the tenure',
    { ttlMs: 1_000, marginMs: 400, renewEveryMs: 300, promiseMs: 700 },
    'promise ≤ ttl − margin',
  ],
] as const) {
  test(`${what} breaks a rule that is named with its numbers`, () => {
    const broken = checkTiming(deriveTiming(set), 1_000)
    const found = broken.find((one) => one.rule === rule)
    assert.ok(found, JSON.stringify(broken))
    assert.match(found.numbers, /\d/)
    assert.match(found.remedy, /^set|: set/)
  })
}
