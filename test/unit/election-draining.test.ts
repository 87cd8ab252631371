import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RELEASE_WITHIN_MS } from '../../src/election/timing.ts'
import { StoreError } from '../../src/stores/store.ts'
import { bench, leadingBench } from '../support/election.ts'
import { granted, refused, settled } from '../support/scripted-store.ts'

/** Whether a promise has resolved by now. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false
  promise.then(() => {
    done = true
  })
  await settled()
  return done
}

test('a resignation answers "not leading" first, keeps the promise, and tells the store last', async () => {
  const { clock, store, election, transitions } = await leadingBench()
  clock.advance(100)
  assert.equal(election.answer().validForMs, 1_000)
  clock.advance(400)
  assert.deepEqual(election.resign(null), { accepted: true, generation: 1 })
  assert.equal(election.answer().leading, false)
  clock.advance(599)
  assert.deepEqual(store.ops, ['acquire'], 'inside the promise')
  clock.advance(1)
  assert.deepEqual(store.ops, ['acquire', 'release'])
  await store.last.answer({ kind: 'released' })
  assert.deepEqual(transitions, ['leading elected 1', 'draining resigned 1', 'following resigned 1'])
})

test('a suspend does not shorten a promise: it counts by the clock that has run least', async () => {
  const { clock, store, election } = await leadingBench()
  election.answer()
  election.resign(null)
  clock.advanceSuspended(150)
  clock.advance(999)
  assert.deepEqual(store.ops, ['acquire'])
  clock.advance(1)
  assert.equal(store.last.op, 'release')
})

test('the promise of an earlier tenure is kept by the release of a later one', async () => {
  const { store, election, clock } = await leadingBench({ promiseMs: 1_000 })
  election.answer()
  store.wake('suspect')
  await store.last.answer({ kind: 'lost' })
  await store.last.answer(granted(2))
  election.drained(2)
  assert.notEqual(store.last.op, 'release', 'drained spoke for generation 2 alone')
  clock.advance(1_000)
  assert.equal(store.last.op, 'release')
})

test('drained for the tenure that is held releases at once; for another generation it changes nothing', async () => {
  const { store, election } = await leadingBench({}, 5)
  election.answer()
  assert.deepEqual(election.drained(4), { accepted: false, current: 5 })
  assert.deepEqual(election.drained(6), { accepted: false, current: 5 })
  assert.equal(election.answer().leading, true)
  assert.deepEqual(election.drained(5), { accepted: true, generation: 5 })
  assert.equal(election.answer().leading, false)
  assert.deepEqual([store.last.op, store.last.generation], ['release', 5])
})

test('who resigned does not stand for the hold-off', async () => {
  const { clock, store, election } = await leadingBench()
  election.resign(3_000)
  await store.last.answer({ kind: 'released' })
  assert.equal(store.last.op, 'current')
  await store.last.answer(null)
  clock.advance(2_999)
  assert.ok(!store.ops.slice(1).includes('acquire'))
})

test('another tenure that begins after a resignation ends the hold-off', async () => {
  const { clock, store, election } = await leadingBench()
  election.resign(60_000)
  await store.last.answer({ kind: 'released' })
  await store.last.answer({ holder: 'two', session: 'b', generation: 2, expiresAt: null, remainingMs: 400 })
  clock.advance(450)
  assert.deepEqual([store.last.op, store.last.above], ['acquire', 2])
})

test('a resignation that comes while draining makes the hold-off longer, never shorter', async () => {
  for (const [first, second] of [
    [100, 4_000],
    [4_000, 100],
  ] as const) {
    const { clock, store, election } = await leadingBench({ drainMs: 2_000 })
    election.resign(first)
    election.resign(second)
    election.drained(1)
    await store.last.answer({ kind: 'released' })
    while (clock.now().steadyMs < 3_990) {
      if (store.last.op === 'current') await store.last.answer(null)
      clock.advance(10)
    }
    assert.ok(!store.ops.slice(1).includes('acquire'), `${first}, ${second}`)
  }
})

test('who holds off looks for a successor soon, and less and less often', async () => {
  const { clock, store, election } = await leadingBench()
  election.resign(null)
  await store.last.answer({ kind: 'released' })
  const waits: number[] = []
  for (let waited = 0, asked = 0; clock.now().steadyMs < 4_990; waited++) {
    if (store.asked.length > asked && store.last.op === 'current') {
      waits.push(waited)
      waited = 0
      asked = store.asked.length
      await store.last.answer(null)
    }
    clock.advance(1)
  }
  assert.ok(waits.length >= 5 && waits.length <= 8, `${waits}`)
  assert.ok((waits[1] ?? 0) <= 60 && (waits.at(-1) ?? 0) >= 800, `${waits}`)
  assert.ok(!store.ops.slice(1).includes('acquire'))
})

test('a follower that is asked to resign holds off, and gives back a grant that was under way', async () => {
  const { store, election, transitions } = bench()
  election.start()
  assert.deepEqual(election.resign(null), { accepted: true, generation: null })
  await store.last.answer(granted(1))
  assert.equal(election.answer().leading, false)
  assert.deepEqual([store.last.op, store.last.generation], ['release', 1])
  await store.last.answer({ kind: 'released' })
  assert.deepEqual(transitions, ['draining resigned 1', 'following resigned 1'], 'never announced')
})

test('the tenure that a follower knew when it was asked to resign does not end its hold-off; the next one does', async () => {
  const { clock, store, election } = bench()
  election.start()
  const held = { session: 'b', expiresAt: null, remainingMs: 400 }
  await store.last.answer({ kind: 'refused', holder: 'two', generation: 4, session: 'b', remainingMs: 400 })
  election.resign(60_000)
  for (let looked = 0; looked < 3; looked++) {
    clock.advance(500)
    assert.equal(store.last.op, 'current', 'it does not stand')
    await store.last.answer({ holder: 'two', generation: 4, ...held })
  }
  clock.advance(500)
  await store.last.answer({ holder: 'three', generation: 5, ...held, session: 'c' })
  clock.advance(500)
  assert.deepEqual([store.last.op, store.last.above], ['acquire', 5])
})

test('a leader whose application is not well steps down', async () => {
  const { store, election, transitions } = await leadingBench()
  election.setHealthy(false)
  assert.equal(election.answer().leading, false)
  await store.last.answer({ kind: 'released' })
  assert.deepEqual(transitions.slice(1), ['draining unhealthy 1', 'following unhealthy 1'])
})

test('a stop with nothing to drain keeps the promise, releases, and is done', async () => {
  const { clock, store, election } = await leadingBench()
  election.answer()
  const stopped = election.stop()
  assert.equal(election.answer().leading, false)
  clock.advance(1_000)
  assert.equal(store.last.op, 'release')
  assert.equal(await isDone(stopped), false)
  await store.last.answer({ kind: 'released' })
  assert.equal(await isDone(stopped), true)
  assert.equal(election.status().state, 'stopped')
})

test('a stop with a drain time keeps renewing until drained', async () => {
  const { clock, store, election } = await leadingBench({ drainMs: 20_000 })
  election.answer()
  const stopped = election.stop()
  assert.deepEqual(election.status().draining, { generation: 1, leaseRemainingMs: 8_000 })
  clock.advance(5_000)
  assert.equal(store.last.op, 'renew')
  await store.last.answer(granted(1))
  assert.equal(election.status().draining?.leaseRemainingMs, 8_000)
  assert.equal(election.answer().leading, false)
  assert.deepEqual(election.drained(2), { accepted: false, current: 1 })
  election.drained(1)
  assert.equal(store.last.op, 'release')
  await store.last.answer({ kind: 'released' })
  assert.equal(await isDone(stopped), true)
})

test('a drain time that ends without drained releases nothing', async () => {
  const { clock, store, election } = await leadingBench({ drainMs: 3_000 })
  const stopped = election.stop()
  clock.advance(2_999)
  assert.equal(await isDone(stopped), false)
  clock.advance(1)
  assert.equal(await isDone(stopped), true)
  assert.ok(!store.ops.includes('release'))
})

test('who resigned and was not told drained stands again only when its lease has run out', async () => {
  const { clock, store, election, transitions } = await leadingBench({ drainMs: 3_000 })
  election.resign(10)
  clock.advance(3_000)
  assert.equal(transitions.at(-1), 'following lapsed 1')
  await store.last.answer(null)
  clock.advance(6_990)
  if (store.last.op === 'current') await store.last.answer(null)
  assert.ok(!store.ops.slice(1).includes('acquire'))
  clock.advance(10)
  assert.equal(store.last.op, 'acquire')
})

test('a second signal ends the wait and releases nothing', async () => {
  const { store, election } = await leadingBench({ drainMs: 20_000 })
  const stopped = election.stop()
  election.abandon()
  assert.equal(await isDone(stopped), true)
  assert.ok(!store.ops.includes('release'))
})

test('a grant that comes after a stop is released, unannounced; without one the stop is bounded', async () => {
  const late = bench()
  late.election.start()
  const stopped = late.election.stop()
  await late.store.last.answer(granted(1))
  assert.deepEqual([late.store.last.op, late.store.last.generation], ['release', 1])
  await late.store.last.answer({ kind: 'released' })
  assert.equal(await isDone(stopped), true)
  assert.ok(!late.transitions.some((one) => one.startsWith('leading')))

  const silent = bench({ attemptTimeoutMs: 1_250 })
  silent.election.start()
  silent.clock.advance(200)
  const gone = silent.election.stop()
  silent.clock.advance(RELEASE_WITHIN_MS)
  assert.equal(await isDone(gone), true)
})

test('a follower with nothing under way stops at once', async () => {
  const { store, election } = bench()
  election.start()
  await store.last.answer(refused(1, 9_000))
  assert.equal(await isDone(election.stop()), true)
})

test('a renewal under way is aborted by a stop, and a release that fails is tried again within the bound', async () => {
  const { clock, store, election } = await leadingBench()
  clock.advance(5_000)
  const renewal = store.last
  const stopped = election.stop()
  await settled()
  assert.equal(renewal.aborted, true)
  assert.equal(store.last.op, 'release')
  await store.last.fail(new StoreError('unavailable', 'cut off', { cause: null }))
  clock.advance(250)
  assert.deepEqual(store.ops.slice(-2), ['release', 'release'])
  clock.advance(RELEASE_WITHIN_MS)
  assert.equal(await isDone(stopped), true, 'a store that does not answer cannot hold the stop up')
})

test('a draining or stopping candidate never acquires', async () => {
  const { clock, store, election } = await leadingBench({ drainMs: 60_000 })
  void election.stop()
  for (let time = 0; time < 40; time++) {
    store.wake('changed')
    clock.advance(500)
    if (store.last.op === 'renew') await store.last.answer({ kind: 'contended' })
  }
  assert.ok(!store.ops.slice(1).includes('acquire'))
  assert.equal(election.status().state, 'stopped', 'its tenure ran out meanwhile')
})
