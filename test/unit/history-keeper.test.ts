import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  FINISH_MOST_MS,
  READ_TIMEOUT_MS,
  RETRY_MS,
  WAITING_MOST,
  WRITE_TIMEOUT_MS,
} from '../../src/election/history-keeper.ts'
import { RELEASE_WITHIN_MS } from '../../src/election/timing.ts'
import { StoreError } from '../../src/stores/store.ts'
import { begun, historyBench, leadingHistoryBench, STARTED_MS } from '../support/history.ts'
import { refused, settled } from '../support/scripted-store.ts'

const denied = () => new StoreError('denied', 'no right', { cause: null })
const away = () => new StoreError('unavailable', 'gone', { cause: null })

test('a grant is announced first, and written down beside the election', async () => {
  const { election, store, history, transitions } = historyBench()
  let announced: readonly string[] = []
  history.asked = () => {
    announced = [...transitions]
  }
  election.start()
  await store.last.answer(begun(1))
  assert.deepEqual(announced, ['leading elected'])
  assert.equal(election.answer().leading, true)
  const { writer, ...told } = history.last.entry
  assert.deepEqual(told, {
    generation: 1,
    holder: 'one',
    fromMs: STARTED_MS,
    leaderlessMs: 40,
    reason: null,
    untilMs: null,
    before: null,
  })
  assert.match(writer, /^[0-9a-f]{16}$/)
  assert.doesNotMatch(JSON.stringify(history.last.entry), /1111/, 'the session is given away')
})

test('the reason is written when the end begins, and again once it came', async () => {
  const { election, store, history } = await leadingHistoryBench()
  await history.last.answer('written')
  election.resign(null)
  await settled()
  assert.deepEqual(history.told, ['1 null', '1 resigned'])
  await history.last.answer('written')
  await store.last.answer({ kind: 'released', atMs: STARTED_MS + 7 })
  assert.deepEqual(history.told, ['1 null', '1 resigned', '1 resigned'])
  assert.equal(history.last.entry.untilMs, STARTED_MS + 7)
})

test('a release is sent before the reason is written', async () => {
  const { election, store, history } = await leadingHistoryBench()
  await history.last.answer('written')
  let ops: readonly string[] = []
  history.asked = () => {
    ops = [...store.ops]
  }
  election.resign(null)
  await settled()
  assert.deepEqual(ops, ['acquire', 'release'])
})

test('a tenure that ends while its beginning is being written is written once more', async () => {
  const { store, history } = await leadingHistoryBench()
  store.wake('suspect')
  await store.last.answer({ kind: 'lost' })
  assert.deepEqual(history.told, ['1 null'], 'one write at a time')
  await history.last.answer('written')
  assert.deepEqual(history.told, ['1 null', '1 lost'])
})

test('the holder that a released lease no longer names is known from what was seen', async () => {
  const { election, store, history } = historyBench()
  election.start()
  await store.last.answer(refused(4, 9_000))
  store.wake('changed')
  const before = { generation: 4, holder: null, fromMs: 1, untilMs: 2, ended: 'released' as const }
  await store.last.answer(begun(5, before))
  assert.deepEqual(history.last.entry.before, { ...before, holder: 'another' })
})

test('a history that hangs delays no renewal: it is given up, counted, and tried again later', async () => {
  const { clock, store, election, history, failures } = await leadingHistoryBench()
  const attempts = new Set<number>()
  for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 100) {
    clock.advance(100)
    await settled()
    attempts.add(history.writes.length)
    const last = store.asked.at(-1)
    if (last?.op === 'renew') await last.answer({ kind: 'granted', generation: 1, leaderlessMs: null })
    assert.equal(election.status().leading, true, `after ${elapsedMs} ms`)
  }
  assert.ok(store.ops.filter((op) => op === 'renew').length >= 11)
  const most = Math.ceil(60_000 / (RETRY_MS + WRITE_TIMEOUT_MS))
  assert.ok(history.writes.length <= most, `${history.writes.length} attempts`)
  assert.ok(failures.length >= most - 2)
  assert.match(failures[0]?.message ?? '', /no answer within/)
  assert.ok(history.writes.slice(0, -1).every(({ attempt }) => attempt.signal.aborted))
  const late = history.writes.at(-1)
  const count = failures.length
  await late?.answer('written')
  clock.advance(20_000)
  assert.equal(failures.length, count, 'what was written is not written again')
})

test('what waits is bounded: the oldest is dropped, and counted', async () => {
  const { clock, store, history, failures } = await leadingHistoryBench()
  for (let generation = 2; generation <= WAITING_MOST + 3; generation++) {
    store.wake('suspect')
    await store.last.answer({ kind: 'lost' })
    while (store.last.op !== 'acquire') clock.advance(100)
    await settled()
    // Damping: until it stands again.
    for (let i = 0; store.last.op !== 'acquire' && i < 1_000; i++) clock.advance(100)
    await store.last.answer(begun(generation))
  }
  const dropped = failures.filter(({ message }) => /is not written down/.test(message))
  assert.equal(dropped.length, 3)
  assert.match(dropped[0]?.message ?? '', /tenure 1 /)
  assert.equal(history.writes.at(0)?.entry.generation, 1)
})

test('a right that is missing drops the write, and the end of the tenure tells all of it again', async () => {
  const { clock, election, store, history, failures } = await leadingHistoryBench()
  await history.last.fail(denied())
  clock.advance(RETRY_MS)
  await settled()
  assert.equal(history.writes.length, 1)
  assert.deepEqual(
    failures.map(({ kind }) => kind),
    ['denied'],
  )
  election.resign(null)
  await settled()
  await history.last.answer('written')
  await store.last.answer({ kind: 'released' })
  const { fromMs, leaderlessMs, reason } = history.last.entry
  assert.deepEqual([fromMs, leaderlessMs, reason], [STARTED_MS, 40, 'resigned'])
})

test('others in the way are asked again soon, and count only when that does not end', async () => {
  const { clock, history, failures } = await leadingHistoryBench()
  for (let i = 0; i < 10; i++) {
    await history.last.answer('contended')
    clock.advance(100)
    await settled()
  }
  assert.deepEqual([history.writes.length, failures.length], [11, 0])
  await history.last.answer('contended')
  assert.equal(failures.length, 1)
  clock.advance(RETRY_MS)
  await settled()
  await history.last.answer('written')
  assert.equal(failures.length, 1)
})

test('a store that does not answer a question in time is answered for from memory, saying so', async () => {
  const { clock, election, history, failures } = await leadingHistoryBench()
  const asked = [election.history(), election.history()]
  clock.advance(READ_TIMEOUT_MS)
  const [one, two] = await Promise.all(asked)
  assert.equal(history.reads.length, 1, 'those who ask at once share one request')
  assert.equal(history.reads[0]?.attempt.signal.aborted, true)
  assert.deepEqual(one, two)
  assert.equal(one?.source, 'memory')
  assert.equal(one?.error?.kind, 'unavailable')
  assert.deepEqual(
    one?.tenures.map(({ generation }) => generation),
    [1],
  )
  assert.equal(failures.length, 1)
})

test('the store is told first, and what only this process knows is added', async () => {
  const { election, history } = await leadingHistoryBench()
  const earlier = {
    holder: 'two',
    generation: 0.5,
    fromMs: 1,
    untilMs: 2,
    reason: 'expired',
    leaderlessMs: null,
  }
  const asked = election.history()
  await history.reads[0]?.answer([{ ...earlier, reason: 'expired' as const }])
  const { source, error, tenures } = await asked
  assert.deepEqual([source, error], ['store', null])
  assert.deepEqual(
    tenures.map(({ holder, reason }) => [holder, reason]),
    [
      ['two', 'expired'],
      ['one', null],
    ],
  )
})

test('a stop waits for the last words, and for nothing else', async () => {
  const { election, store, history } = await leadingHistoryBench()
  await history.last.answer('written')
  let isStopped = false
  const stopped = election.stop().then(() => {
    isStopped = true
  })
  await settled()
  await store.last.answer({ kind: 'released' })
  assert.equal(isStopped, false)
  assert.deepEqual(history.told, ['1 null', '1 shutdown'])
  await history.last.answer('written')
  assert.deepEqual(history.told.at(-1), '1 shutdown')
  assert.equal(isStopped, false)
  await history.last.answer('written')
  await stopped
})

test('a history that hangs holds up a stop for no longer than the release may take', async () => {
  const { clock, election, store, history } = await leadingHistoryBench()
  await history.last.answer('written')
  let isStopped = false
  election.stop().then(() => {
    isStopped = true
  })
  await clock.elapse(RELEASE_WITHIN_MS)
  assert.equal(store.last.op, 'release')
  assert.equal(isStopped, true, 'the history had its time while the release hung')
  await clock.elapse(60_000)
  assert.equal(history.writes.length, 2, 'nothing is written afterwards')
})

test('a store that gives the lease back at once and keeps the history waiting is waited for a moment', async () => {
  const { clock, election, store, history } = await leadingHistoryBench()
  let isStopped = false
  election.stop().then(() => {
    isStopped = true
  })
  await settled()
  await store.last.answer({ kind: 'released' })
  await clock.elapse(FINISH_MOST_MS - 1)
  assert.equal(isStopped, false)
  await clock.elapse(1)
  assert.equal(isStopped, true)
  await history.last.answer('written')
  assert.equal(history.writes.length, 1)
})

test('a history that has failed just now is not waited for at all, and leaves no timer', async () => {
  const { clock, election, store, history } = await leadingHistoryBench()
  await history.last.fail(away())
  const stopped = election.stop()
  await store.last.answer({ kind: 'released' })
  await stopped
  assert.equal(clock.timers, 0)
})
