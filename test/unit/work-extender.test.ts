import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Extender } from '../../src/work/extender.ts'
import { type Claimed, outcome, type Result } from '../../src/work/outcome.ts'
import { ManualClock, settle } from '../support/clock.ts'

const EVERY_MS = 100

const one: Claimed = { key: '1', token: 'one' }
const two: Claimed = { key: '2', token: 'two' }

/** An extender whose extensions end when the test says so. */
function bench(items: readonly Claimed[] = [one, two]) {
  const clock = new ManualClock()
  const rounds: {
    readonly tokens: string[]
    answer(results?: Record<string, Result>): void
    fail(): void
  }[] = []
  const errors: unknown[] = []
  const extend = (present: readonly Claimed[]) =>
    new Promise<ReturnType<typeof outcome>[]>((resolve, reject) => {
      rounds.push({
        tokens: present.map(({ token }) => token),
        answer: (results = {}) =>
          resolve(present.map((item) => outcome(item, results[item.token] ?? 'applied'))),
        fail: () => reject(new Error('out of reach')),
      })
    })
  const extender = new Extender(extend, items, {
    everyMs: EVERY_MS,
    clock,
    onError: (error) => errors.push(error),
  })
  const round = (n: number) => {
    const found = rounds[n]
    assert.ok(found !== undefined, `round ${n}`)
    return found
  }
  return { clock, rounds, round, errors, extender }
}

test('all of them are extended together, again and again, and never twice at once', async () => {
  const { clock, rounds, round } = bench()
  await clock.elapse(EVERY_MS)
  assert.deepEqual(round(0).tokens, ['one', 'two'])
  await clock.elapse(10 * EVERY_MS)
  assert.equal(rounds.length, 1, 'the first is still on its way')
  round(0).answer()
  await clock.elapse(EVERY_MS)
  assert.equal(rounds.length, 2)
})

test('what is lost, missing or at its end is extended no more, and its signal says so', async () => {
  for (const result of ['lost', 'missing', 'ended'] as const) {
    const { clock, round, extender } = bench()
    await clock.elapse(EVERY_MS)
    round(0).answer({ one: result })
    await clock.elapse(EVERY_MS)
    assert.deepEqual(round(1).tokens, ['two'])
    assert.match(String(extender.signalOf(one).reason), new RegExp(`key 1: ${result}`))
    assert.equal(extender.signalOf(two).aborted, false)
  }
})

test('contention, a fault and a store out of reach end nothing', async () => {
  const { clock, round, errors, extender } = bench()
  await clock.elapse(EVERY_MS)
  round(0).answer({ one: 'contended', two: 'fault' })
  await clock.elapse(EVERY_MS)
  round(1).fail()
  await clock.elapse(EVERY_MS)
  assert.deepEqual(round(2).tokens, ['one', 'two'])
  assert.deepEqual(errors.map(String), ['Error: out of reach'])
  assert.equal(extender.signalOf(one).aborted, false)
})

test('stop and drop return once no extension is on its way', async () => {
  for (const end of ['stop', 'drop'] as const) {
    const { clock, round, extender } = bench()
    await clock.elapse(EVERY_MS)
    let ended = false
    const ending = (end === 'stop' ? extender.stop() : extender.drop(one)).then(() => {
      ended = true
    })
    await settle()
    assert.equal(ended, false)
    round(0).answer()
    await ending
    assert.equal(ended, true)
  }
})

test('after stop no timer is left; after the last drop neither', async () => {
  const stopped = bench()
  await stopped.extender.stop()
  assert.equal(stopped.clock.timers, 0)
  const { clock, rounds, round, extender } = bench()
  await clock.elapse(EVERY_MS)
  round(0).answer()
  await settle()
  await Promise.all([extender.drop(one), extender.drop(two)])
  await clock.elapse(5 * EVERY_MS)
  assert.deepEqual([rounds.length, clock.timers], [1, 0])
})

test('a stop while an extension is on its way plans no further one', async () => {
  const { clock, rounds, round, extender } = bench()
  await clock.elapse(EVERY_MS)
  const stopping = extender.stop()
  round(0).answer()
  await stopping
  await clock.elapse(5 * EVERY_MS)
  assert.deepEqual([rounds.length, clock.timers], [1, 0])
})

test('nobody is told about an item that was never given', () => {
  const { extender } = bench([one])
  assert.throws(() => extender.signalOf(two), { name: 'TypeError', message: /never given/ })
})
