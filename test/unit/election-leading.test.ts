import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '../../src/stores/store.ts'
import { bench, leadingBench } from '../support/election.ts'
import { granted, settled } from '../support/scripted-store.ts'

const unavailable = (): StoreError => new StoreError('unavailable', 'cut off', { cause: null })

test('act-until counts from before the request was sent, not from its reply', async () => {
  const { clock, store, election } = bench()
  election.start()
  clock.advance(1_200)
  await store.last.answer(granted(1))
  assert.equal(election.status().actForMs, 10_000 - 2_000 - 1_200)
})

test('a grant that comes after its own act-until makes nobody a leader', async () => {
  const { clock, store, election, transitions } = bench({ attemptTimeoutMs: 1_250 })
  election.start()
  clock.advanceSuspended(8_000)
  await store.last.answer(granted(1))
  assert.equal(election.answer().leading, false)
  assert.deepEqual(transitions, [])
  clock.advance(250)
  assert.deepEqual([store.last.op, store.last.above], ['acquire', 1], 'it stands again, above that grant')
})

test('the first answer after a suspend past act-until is "not leading", though no timer has fired', async () => {
  const { clock, election } = await leadingBench()
  assert.equal(election.answer().leading, true)
  clock.advanceSuspended(8_000)
  const answer = election.answer()
  assert.deepEqual(
    [answer.leading, answer.generation, answer.session, answer.validForMs, answer.reason],
    [false, null, null, 0, 'deadline'],
  )
})

test('a wall clock that is set forward past act-until ends the tenure; set back, it changes nothing', async () => {
  const { clock, election } = await leadingBench()
  clock.stepWall(-3_600_000)
  assert.equal(election.answer().leading, true)
  assert.equal(election.status().actForMs, 8_000)
  clock.stepWall(8_000)
  assert.equal(election.answer().leading, false)
})

test('a pause that does not reach act-until ends nothing', async () => {
  const { clock, election } = await leadingBench()
  clock.advanceSuspended(7_999)
  assert.equal(election.answer().leading, true)
})

test('two renewals that time out in a row do not cost the tenure, and no renewal begins after act-until', async () => {
  const { clock, store, election, transitions } = await leadingBench()
  clock.advance(5_000)
  assert.equal(store.last.op, 'renew')
  clock.advance(1_250 + 250)
  await settled()
  clock.advance(250)
  assert.deepEqual(store.ops, ['acquire', 'renew', 'renew'])
  await store.last.answer(granted(1))
  assert.equal(election.answer().leading, true)
  assert.deepEqual(transitions, ['leading elected 1'])
})

test('a renewal that fails until act-until ends the tenure at that instant, and the next one is a new one', async () => {
  const { clock, store, election, transitions } = await leadingBench()
  while (clock.now().steadyMs < 7_990) {
    clock.advance(10)
    if (store.last.op === 'renew') await store.last.fail(unavailable())
  }
  assert.equal(election.answer().leading, true)
  clock.advance(10)
  assert.equal(election.answer().leading, false)
  await settled()
  assert.deepEqual([store.last.op, store.last.above], ['acquire', 1])
  await store.last.answer(granted(2))
  assert.equal(election.answer().generation, 2)
  assert.deepEqual(transitions, ['leading elected 1', 'following deadline 1', 'leading elected 2'])
})

test('the reply to a renewal that comes after act-until is not used', async () => {
  const { clock, store, election } = await leadingBench()
  clock.advance(5_000)
  clock.advanceSuspended(3_000)
  await store.last.answer(granted(1))
  assert.equal(election.answer().leading, false)
  assert.equal(election.status().reason, 'deadline')
})

test('a renewal may wait no longer than the tenure lasts', async () => {
  const { clock, store } = await leadingBench()
  clock.advance(4_999)
  clock.advanceSuspended(2_500)
  clock.advance(1)
  assert.equal(store.last.op, 'renew')
  assert.equal(store.last.timeoutMs, 500)
})

test('a tenure that the store says is lost ends at once and is not retried', async () => {
  const { clock, store, election, transitions } = await leadingBench()
  clock.advance(5_000)
  await store.last.answer({ kind: 'lost' })
  assert.equal(election.answer().leading, false)
  assert.deepEqual(transitions, ['leading elected 1', 'following lost 1'])
  assert.deepEqual(store.ops, ['acquire', 'renew', 'acquire'])
})

test('contention on a renewal is retried and says nothing about the tenure', async () => {
  const { clock, store, election } = await leadingBench()
  clock.advance(5_000)
  await store.last.answer({ kind: 'contended' })
  assert.equal(election.answer().leading, true)
  clock.advance(250)
  assert.deepEqual(store.ops, ['acquire', 'renew', 'renew'])
})

test('a hint that the record may not be ours any more is followed by a renewal at once', async () => {
  const { store } = await leadingBench()
  store.wake('changed')
  assert.deepEqual(store.ops, ['acquire'])
  store.wake('suspect')
  assert.deepEqual(store.ops, ['acquire', 'renew'])
})

test('an answer promises no more than act-until allows, and never a fraction', async () => {
  const { clock, election } = await leadingBench()
  assert.equal(election.answer().validForMs, 1_000)
  clock.advanceSuspended(7_400.5)
  assert.equal(election.answer().validForMs, 599)
  clock.advanceSuspended(599)
  const last = election.answer()
  assert.deepEqual([last.leading, last.validForMs], [false, 0], 'half a millisecond is no promise')
})

test('a store that grants a generation that is not above the last one makes nobody a leader', async () => {
  const { store, election, reports } = bench({ generationFloor: 7 })
  election.start()
  await store.last.answer(granted(7))
  assert.equal(election.answer().leading, false)
  assert.equal(reports[0]?.error?.kind, 'misconfigured')
})

test('tenures that keep ending early are damped, by half a ttl at most, and that is said', async () => {
  const { clock, store, election, dampedMs } = await leadingBench()
  for (let generation = 2; generation < 12; generation++) {
    store.wake('suspect')
    await store.last.answer({ kind: 'lost' })
    while (store.last.op !== 'acquire' || store.last.above !== generation - 1) {
      if (store.last.op === 'current') await store.last.answer(null)
      clock.advance(10)
    }
    await store.last.answer(granted(generation))
    assert.equal(election.answer().generation, generation)
  }
  assert.equal(dampedMs[0], 250)
  assert.equal(Math.max(...dampedMs), 5_000)
})

test('a listener that throws is reported, and neither the tenure nor other listeners suffer', async () => {
  const { store, election, faults } = bench()
  const heard: string[] = []
  election.onTransition(() => {
    throw new Error('a broken reader')
  })
  election.onTransition(({ to }) => heard.push(to))
  election.start()
  await store.last.answer(granted(1))
  assert.equal(election.answer().leading, true)
  assert.ok(heard.includes('leading'))
  assert.equal(faults.length > 0, true)
})

test('a takeover is one piece of news: the holder that it brings is not told again', async () => {
  const { store, election } = bench()
  const heard: string[] = []
  election.onTransition(({ from, to }) => heard.push(`${from} ${to}`))
  election.start()
  await store.last.answer(granted(1))
  assert.deepEqual(heard, ['following leading'])
})
