import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '../../src/stores/store.ts'
import { bench } from '../support/election.ts'
import { free, granted, refused, settled } from '../support/scripted-store.ts'

test('a refused follower asks again in half a ttl, or when the lease may be free', async () => {
  const { clock, store, election } = bench()
  election.start()
  await store.last.answer(refused(4, 9_000))
  clock.advance(4_999)
  assert.equal(store.asked.length, 1)
  clock.advance(51)
  assert.equal(store.asked.length, 2)
  await store.last.answer(refused(4, 700))
  clock.advance(699)
  assert.equal(store.asked.length, 2)
  clock.advance(51)
  assert.equal(store.asked.length, 3)
})

test('a wake-up is followed at once; one that comes during a request is remembered', async () => {
  const { store, election } = bench()
  election.start()
  store.wake('changed')
  assert.equal(store.asked.length, 1, 'one request at a time')
  await store.last.answer(refused(4, 9_000))
  assert.equal(store.asked.length, 2, 'the remembered one')
  await store.last.answer(refused(4, 9_000))
  assert.equal(store.asked.length, 2)
  store.wake('changed')
  assert.equal(store.asked.length, 3)
})

test('a refusal that only teaches a newer generation is repeated at once, above it', async () => {
  const { store, election } = bench()
  election.start()
  assert.equal(store.last.above, 0)
  await store.last.answer(free(41))
  assert.deepEqual([store.asked.length, store.last.above], [2, 41])
  await store.last.answer(granted(42))
  assert.equal(election.answer().generation, 42)
})

test('a configured floor is where the first acquire starts', () => {
  const { store, election } = bench({ generationFloor: 1_000 })
  election.start()
  assert.equal(store.last.above, 1_000)
})

test('contention is asked again soon, and less soon each time', async () => {
  const { clock, store, election } = bench()
  election.start()
  const waits: number[] = []
  for (let time = 0; time < 8; time++) {
    const asked = store.asked.length
    await store.last.answer({ kind: 'contended' })
    let waited = 0
    for (; store.asked.length === asked; waited++) clock.advance(1)
    waits.push(waited)
  }
  assert.ok((waits[0] ?? 0) <= 10, `${waits}`)
  assert.ok(Math.max(...waits) <= 1_000, `${waits}`)
  assert.ok((waits[7] ?? 0) > (waits[0] ?? 0), `${waits}`)
})

test('contention for a whole ttl is a fault of the store, told once in the same words, and over with the next answer', async () => {
  const { clock, store, election, reports } = bench()
  election.start()
  const contend = async (untilMs: number): Promise<void> => {
    while (clock.now().steadyMs < untilMs) {
      await store.last.answer({ kind: 'contended' })
      const asked = store.asked.length
      while (store.asked.length === asked) clock.advance(10)
    }
  }
  await contend(9_000)
  assert.equal(election.status().store.error, null)
  await contend(12_000)
  assert.equal(election.status().store.error?.kind, 'unavailable')
  assert.match(election.status().store.error?.message ?? '', /locked/)
  assert.equal(new Set(reports.flatMap(({ error }) => error?.message ?? [])).size, 1)
  assert.ok(store.asked.length < 30, `${store.asked.length} requests in 12 s`)
  await store.last.answer(refused(1, 9_000))
  assert.equal(election.status().store.error, null)
})

test('a follower that keeps failing asks less and less often, up to once a second', async () => {
  const { clock, store, election } = bench()
  election.start()
  for (let time = 0; clock.now().steadyMs < 30_000; time++) {
    await store.last.fail(new StoreError('unavailable', 'cut off', { cause: null }))
    const asked = store.asked.length
    while (store.asked.length === asked) clock.advance(10)
    assert.ok(time < 62, 'too often')
  }
  assert.ok(store.asked.length > 28, 'too seldom')
})

test('a store out of reach is asked again after the back-off; one that denies, after half a ttl', async () => {
  const { clock, store, election } = bench()
  election.start()
  await store.last.fail(new StoreError('unavailable', 'cut off', { cause: null }))
  clock.advance(250)
  assert.equal(store.asked.length, 2)
  await store.last.fail(new StoreError('denied', 'no right', { cause: null }))
  assert.deepEqual(election.status().store.error, { kind: 'denied', message: 'no right' })
  clock.advance(4_999)
  assert.equal(store.asked.length, 2)
  clock.advance(51)
  assert.equal(store.asked.length, 3)
  await store.last.answer(refused(1, 9_000))
  assert.equal(election.status().store.error, null)
})

test('a request that times out is aborted, and a reply that comes later is not listened to', async () => {
  const { clock, store, election } = bench()
  election.start()
  const first = store.last
  clock.advance(1_250)
  await settled()
  assert.equal(first.aborted, true)
  await first.answer(granted(1))
  assert.equal(election.answer().leading, false)
  clock.advance(250)
  assert.equal(store.asked.length, 2)
})

test('an observer reads, and never asks for the lease', async () => {
  const { clock, store, election } = bench({ observer: true })
  election.start()
  for (let time = 0; time < 5; time++) {
    await store.last.answer({ holder: 'two', session: 'b', generation: 9, expiresAt: null, remainingMs: 0 })
    store.wake('suspect')
  }
  clock.advance(60_000)
  assert.deepEqual([...new Set(store.ops)], ['current'])
  assert.equal(election.status().state, 'observing')
  assert.equal(election.status().current?.generation, 9)
  assert.equal(election.resign(null).accepted, false)
})

test('a candidate whose application is not well does not stand, and asks at once when it is well again', async () => {
  const { clock, store, election } = bench()
  election.setHealthy(false)
  election.start()
  assert.deepEqual(store.ops, ['current'])
  await store.last.answer(null)
  clock.advance(20_000)
  await settled()
  assert.ok(!store.ops.includes('acquire'))
  if (store.last.op === 'current') await store.last.answer(null)
  election.setHealthy(true)
  assert.equal(store.last.op, 'acquire')
})

test('what stands is shown as it was seen, with its age, and runs down', async () => {
  const { clock, store, election } = bench()
  election.start()
  await store.last.answer(refused(4, 4_000))
  clock.advanceSuspended(1_500)
  const { current, generation, session } = election.status()
  assert.deepEqual(current, { holder: 'another', generation: 4, expiresInMs: 2_500, observedAgeMs: 1_500 })
  assert.deepEqual([generation, session], [null, null])
})

test('history keeps the tenures that were seen, with why ours ended', async () => {
  const { clock, store, election } = bench()
  election.start()
  await store.last.answer(refused(4, 1_000))
  clock.advance(1_050)
  await store.last.answer(granted(5, 30))
  clock.advance(5_000)
  await store.last.answer({ kind: 'lost' })
  const { source, error, tenures } = await election.history()
  assert.deepEqual([source, error], ['memory', null], 'this store keeps none')
  const told = tenures.map(({ holder, generation, reason, leaderlessMs }) => [
    holder,
    generation,
    reason,
    leaderlessMs,
  ])
  assert.deepEqual(told, [
    ['another', 4, 'seen', null],
    ['one', 5, 'lost', 30],
  ])
})
