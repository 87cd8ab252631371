import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ClaimBook } from '../../src/claims/index.ts'
import { ManualClock, settle } from '../support/clock.ts'
import { overlap } from './claims-model.ts'

function setup() {
  const clock = new ManualClock()
  const book = new ClaimBook({ workspace: 'srv', defaultTtlMs: 1_000, clock })
  /** Waits, and keeps how and when the wait ended. */
  const wait = (
    holder: string,
    paths: string[],
    waitMs: number,
    more: { signal?: AbortSignal; ttlMs?: number } = {},
  ) => {
    const done: { how: string | null; atMs: number } = { how: null, atMs: 0 }
    const promise = book.acquireWithin({ holder, paths, waitMs, ...more }).then((answer) => {
      done.how = answer.granted ? 'granted' : answer.reason
      done.atMs = clock.now().steadyMs
      return answer
    })
    return { done, promise }
  }
  return { clock, book, wait }
}

test('who can be granted at once does not wait, and who may not wait is told at once', async () => {
  const { book, wait, clock } = setup()
  const free = wait('ada', ['/srv'], 500)
  const taken = wait('bob', ['/srv'], 0)
  await settle()
  assert.deepEqual([free.done.how, taken.done.how, clock.timers], ['granted', 'timeout', 0])
  assert.deepEqual(book.status().waits, [])
})

test('a wait ends with the release that it waited for, first come first served', async () => {
  const { clock, book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  const first = wait('bob', ['/srv/a'], 500)
  const second = wait('cy', ['/srv'], 500)
  await clock.elapse(100)
  book.release('ada')
  await settle()
  assert.deepEqual([first.done, second.done.how], [{ how: 'granted', atMs: 100 }, null])
  book.release('bob')
  await settle()
  assert.equal(second.done.how, 'granted')
  assert.equal(clock.timers, 0, 'no sleep is left behind')
})

test('a wait sleeps to the earliest expiry in its way, without help of any other operation', async () => {
  const { clock, book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv/a'], ttlMs: 30 })
  book.acquire({ holder: 'bob', paths: ['/srv/b'], ttlMs: 70 })
  const { done } = wait('cy', ['/srv'], 500)
  await clock.elapse(69)
  assert.equal(done.how, null)
  await clock.elapse(1)
  assert.deepEqual(done, { how: 'granted', atMs: 70 })
})

test('a wait also ends when the one before it in the queue is never heard of again', async () => {
  const { clock, book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv/a'] })
  book.waitAttempt({ holder: 'gone', paths: ['/srv'], waitMs: 40 })
  const { done } = wait('cy', ['/srv/b'], 500)
  await clock.elapse(40)
  assert.deepEqual(done, { how: 'granted', atMs: 40 })
})

test('a wait ends by its bound, and names what still stands in the way', async () => {
  const { clock, book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  const { done, promise } = wait('bob', ['/srv/a'], 200)
  await clock.elapse(199)
  assert.equal(done.how, null)
  await clock.elapse(1)
  assert.deepEqual(done, { how: 'timeout', atMs: 200 })
  const answer = await promise
  assert.ok(!answer.granted)
  assert.deepEqual(
    answer.conflicts.map(({ holder, heldForMs }) => [holder, heldForMs]),
    [['ada', 200]],
  )
})

test('a wait outlives refreshes of what it waits for', async () => {
  const { clock, book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv'], ttlMs: 50 })
  const { done } = wait('bob', ['/srv'], 500)
  for (let i = 0; i < 4; i++) {
    await clock.elapse(40)
    book.acquire({ holder: 'ada', paths: ['/srv'], ttlMs: 50 })
  }
  assert.equal(done.how, null)
  await clock.elapse(50)
  assert.deepEqual(done, { how: 'granted', atMs: 210 })
})

test('an abort ends the wait at once and frees those behind it', async () => {
  const { clock, book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv/a'] })
  const controller = new AbortController()
  const first = wait('bob', ['/srv'], 500, { signal: controller.signal })
  const second = wait('cy', ['/srv/b'], 500)
  await clock.elapse(10)
  controller.abort()
  await settle()
  assert.deepEqual(
    [first.done, second.done],
    [
      { how: 'cancelled', atMs: 10 },
      { how: 'granted', atMs: 10 },
    ],
  )
  assert.equal(clock.timers, 0)
})

test('an abort that came before the wait lets it not begin, and takes nothing back that was granted', async () => {
  const { book, wait } = setup()
  const signal = AbortSignal.abort()
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  const { done } = wait('bob', ['/srv'], 500, { signal })
  await settle()
  assert.equal(done.how, 'cancelled')
  assert.deepEqual(book.status().waits, [])
  const late = wait('bob', ['/free'], 500, { signal })
  await settle()
  assert.equal(late.done.how, 'granted')
})

test('a holder that holds anything is not let wait, and is told so', async () => {
  const { book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/a'] })
  book.acquire({ holder: 'bob', paths: ['/b'] })
  const { done, promise } = wait('bob', ['/a'], 500)
  await settle()
  assert.equal(done.how, 'holding')
  const answer = await promise
  assert.ok(!answer.granted && answer.conflicts[0]?.holder === 'ada')
  assert.equal((await book.acquireWithin({ holder: 'bob', paths: ['/c'], waitMs: 500 })).granted, true)
})

test('a holder that is granted something while it waits has to give the wait up', async () => {
  const { book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/a'] })
  const { done } = wait('bob', ['/a'], 500)
  await settle()
  book.acquire({ holder: 'bob', paths: ['/b'] })
  await settle()
  assert.equal(done.how, 'holding')
  assert.deepEqual(book.status().waits, [])
})

test('the end of a holder ends its waits', async () => {
  const { book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/a'] })
  const { done } = wait('bob', ['/a'], 500)
  book.releaseHolder('bob')
  await settle()
  assert.equal(done.how, 'cancelled')
})

test('after a suspend or a freeze a wait whose bound passed is over', async () => {
  for (const pass of ['advanceSuspended', 'advanceFrozen'] as const) {
    const { clock, book, wait } = setup()
    book.acquire({ holder: 'ada', paths: ['/a'], ttlMs: 5_000 })
    const { done } = wait('bob', ['/a'], 500)
    clock[pass](600)
    book.releaseAll()
    await settle()
    assert.equal(done.how, 'timeout', pass)
  }
})

test('a timer that fires early by the clock of the book makes no busy loop', async () => {
  const { clock, book, wait } = setup()
  book.acquire({ holder: 'ada', paths: ['/a'], ttlMs: 100 })
  const { done } = wait('bob', ['/a'], 500)
  await settle()
  clock.move({ steadyMs: 10, bootMs: 0, wallMs: 0 })
  let turns = 0
  for (; done.how === null && turns < 50; turns++) await clock.elapse(10)
  assert.equal(done.how, 'granted')
  assert.ok(turns <= 11, `${turns} turns`)
})

test('whatever happens, each wait ends by its bound, and none is overtaken', async () => {
  const path = fc.constantFrom('/a', '/a/b', '/a/b/c', '/a/d', '/b', '/b/c', '/', 'r')
  const request = fc.record({
    atMs: fc.integer({ min: 0, max: 120 }),
    paths: fc.array(path, { minLength: 1, maxLength: 2 }),
    ttlMs: fc.integer({ min: 1, max: 60 }),
    waitMs: fc.integer({ min: 0, max: 150 }),
    /** After the grant; beyond the ttl: never. */
    releaseAfterMs: fc.integer({ min: 1, max: 90 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 2, maxLength: 12 }), async (requests) => {
      const { clock, book, wait } = setup()
      const waits = requests
        .toSorted((a, b) => a.atMs - b.atMs)
        .map((one, i) => ({
          ...one,
          holder: `agent-${i}`,
          ...({ done: null } as { done: null | { how: string | null; atMs: number } }),
        }))
      for (const one of waits) {
        clock.after(one.atMs, () => {
          const { done, promise } = wait(one.holder, one.paths, one.waitMs, { ttlMs: one.ttlMs })
          one.done = done
          promise.then(({ granted }) => {
            if (granted) clock.after(one.releaseAfterMs, () => book.release(one.holder))
          })
        })
      }
      await clock.elapse(300)
      for (const one of waits) {
        assert.ok(one.done !== null && one.done.how !== null, `${one.holder} still waits`)
        assert.ok(one.done.atMs <= one.atMs + one.waitMs, `${one.holder} waited beyond its bound`)
        assert.ok(['granted', 'timeout'].includes(one.done.how), one.done.how)
      }
      assert.deepEqual(book.status().waits, [])
      for (const [i, early] of waits.entries()) {
        for (const late of waits.slice(i + 1)) {
          if (late.done?.how !== 'granted' || early.done === null) continue
          const overlaps = early.paths.some((one) => late.paths.some((other) => overlap(one, other)))
          assert.ok(!overlaps || early.done.atMs <= late.done.atMs, `${late.holder} overtook ${early.holder}`)
        }
      }
    }),
    { numRuns: 300 },
  )
})
