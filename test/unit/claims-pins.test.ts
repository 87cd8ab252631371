import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClaimBook } from '../../src/claims/index.ts'
import { PINS_MOST } from '../../src/claims/limits.ts'
import { ManualClock, settle } from '../support/clock.ts'

function setup() {
  const clock = new ManualClock()
  const book = new ClaimBook({ workspace: 'srv', defaultTtlMs: 100, clock })
  assert.ok(book.acquire({ holder: 'ada', paths: ['/srv'] }).granted)
  const pin = (path = '/srv/app.ts', forMs?: number): string => {
    const answer = book.pin('ada', path, forMs === undefined ? {} : { forMs })
    assert.ok(answer.pinned)
    return answer.pin
  }
  const othersMay = (): boolean => {
    const answer = book.acquire({ holder: 'bob', paths: ['/srv'] })
    if (answer.granted) book.release('bob')
    return answer.granted
  }
  return { clock, book, pin, othersMay }
}

test('a pinned claim outlives its ttl, and its expiry takes effect at the unpin', () => {
  const { clock, book, pin, othersMay } = setup()
  const token = pin()
  clock.advance(1_000)
  assert.equal(book.covering('ada', '/srv/app.ts').verdict, 'own')
  const refusal = book.acquire({ holder: 'bob', paths: ['/srv'] })
  assert.ok(!refusal.granted)
  assert.deepEqual([refusal.conflicts[0]?.pinned, refusal.conflicts[0]?.expiresInMs], [true, null])
  assert.equal(book.status().claims[0]?.ends, 'expired')
  const answer = book.unpin(token)
  assert.ok(answer.unpinned && answer.ended === 'expired')
  assert.ok(othersMay())
})

test('a release of a pinned claim is told as deferred, and takes effect at the unpin', () => {
  const { book, pin, othersMay } = setup()
  const token = pin()
  const { released, deferred } = book.release('ada')
  assert.deepEqual([released, deferred], [[], ['/srv']])
  assert.ok(!othersMay())
  assert.equal(book.covering('ada', '/srv').verdict, 'own', 'the work that runs still may')
  assert.deepEqual(book.release('ada').deferred, [], 'given back once')
  assert.deepEqual(book.releaseAll().deferred, [])
  const answer = book.unpin(token)
  assert.ok(answer.unpinned && answer.ended === 'released')
  assert.ok(othersMay())
})

test('an unpin before the ttl ends nothing', () => {
  const { clock, book, pin, othersMay } = setup()
  const token = pin()
  clock.advance(99)
  const answer = book.unpin(token)
  assert.ok(answer.unpinned && answer.ended === null)
  assert.ok(!othersMay())
  clock.advance(1)
  assert.ok(othersMay())
})

test('a refresh is a new claim generation: the old pin keeps the old one, and ends the old one alone', () => {
  const { clock, book, pin, othersMay } = setup()
  const token = pin()
  const refreshed = book.acquire({ holder: 'ada', paths: ['/srv'] })
  assert.ok(refreshed.granted && refreshed.claims[0]?.claimGeneration === 2)
  assert.deepEqual(
    book.status().claims.map(({ ends, claimGeneration }) => [claimGeneration, ends]),
    [
      [1, 'replaced'],
      [2, null],
    ],
  )
  clock.advance(50)
  const answer = book.unpin(token)
  assert.ok(answer.unpinned && answer.ended === 'replaced')
  assert.equal(book.covering('ada', '/srv').claim?.claimGeneration, 2)
  assert.ok(!othersMay())
  clock.advance(50)
  assert.ok(othersMay(), 'generation 2 was pinned by nobody')
})

test('work under an old pin is protected when the newer claim generation is over', () => {
  const { clock, book, pin, othersMay } = setup()
  const token = pin()
  book.acquire({ holder: 'ada', paths: ['/srv'], ttlMs: 10 })
  clock.advance(10)
  assert.ok(!othersMay())
  book.unpin(token)
  assert.ok(othersMay())
})

test('an unpin that comes a second time, or from nowhere, changes nothing', () => {
  const { book, pin, othersMay } = setup()
  const first = pin()
  pin()
  assert.ok(book.unpin(first).unpinned)
  assert.ok(!book.unpin(first).unpinned)
  assert.ok(!book.unpin(book.epoch).unpinned)
  assert.equal(book.status().claims[0]?.pins, 1)
  book.release('ada')
  assert.ok(!othersMay(), 'the other pin holds')
})

test('pins are counted: the last unpin decides', () => {
  const { clock, book, pin, othersMay } = setup()
  const tokens = [pin(), pin(), pin()]
  clock.advance(200)
  const ends = tokens.map((token) => {
    const answer = book.unpin(token)
    return answer.unpinned ? answer.ended : 'unknown'
  })
  assert.deepEqual(ends, [null, null, 'expired'])
  assert.ok(othersMay())
})

test('what only pins keep alive takes no new pin: no chain of them holds a path for ever', () => {
  const { clock, book, pin } = setup()
  pin()
  clock.advance(100)
  const overdue = book.pin('ada', '/srv')
  assert.ok(!overdue.pinned && overdue.reason === 'not_held')
  const released = setup()
  released.pin()
  released.book.release('ada')
  assert.ok(!released.book.pin('ada', '/srv').pinned)
})

test('a claim that is over, of another, or above only by name cannot be pinned', () => {
  const { clock, book } = setup()
  assert.ok(!book.pin('bob', '/srv').pinned)
  assert.ok(!book.pin('ada', '/').pinned)
  clock.advance(100)
  assert.ok(!book.pin('ada', '/srv').pinned)
})

test('of several claims above a path the closest one is pinned', () => {
  const { clock, book, pin, othersMay } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv/src'] })
  pin('/srv/src/app.ts')
  clock.advance(100)
  assert.deepEqual(
    book.status().claims.map(({ path }) => path),
    ['/srv/src'],
  )
  assert.ok(!othersMay())
  assert.ok(book.acquire({ holder: 'bob', paths: ['/srv/docs'] }).granted)
})

test('a pin with a bound ends by itself, and its claim with it', async () => {
  const { clock, book, pin, othersMay } = setup()
  const token = pin('/srv', 250)
  const refusal = book.acquire({ holder: 'bob', paths: ['/srv'] })
  assert.ok(!refusal.granted && refusal.conflicts[0]?.expiresInMs === 250)
  const wait = book.acquireWithin({ holder: 'cy', paths: ['/srv'], waitMs: 1_000 })
  await clock.elapse(249)
  assert.equal(book.covering('ada', '/srv').verdict, 'own')
  await clock.elapse(1)
  assert.ok((await wait).granted, 'who waits for it wakes up by itself')
  assert.ok(!book.unpin(token).unpinned)
  book.release('cy')
  assert.ok(othersMay())
})

test('a refresh of what only a pin keeps alive does not pass those who wait for it', async () => {
  const { clock, book, pin } = setup()
  const token = pin()
  const wait = book.acquireWithin({ holder: 'bob', paths: ['/srv'], waitMs: 1_000 })
  await clock.elapse(100)
  const again = book.acquire({ holder: 'ada', paths: ['/srv'] })
  assert.ok(!again.granted && again.ahead[0]?.holder === 'bob')
  book.unpin(token)
  await settle()
  assert.ok((await wait).granted)
})

test('the end of a holder does not end its pins: its work may still run', () => {
  const { book, pin, othersMay } = setup()
  const token = pin()
  assert.deepEqual(book.releaseHolder('ada').deferred, ['/srv'])
  assert.ok(!othersMay())
  book.unpin(token)
  assert.ok(othersMay())
})

test('there is room for so many pins and no more', () => {
  const { book, pin } = setup()
  for (let i = 0; i < PINS_MOST; i++) pin()
  const answer = book.pin('ada', '/srv')
  assert.ok(!answer.pinned && answer.reason === 'too_many_pins')
})

test('a claim given back under a pin with a bound ends with the pin, before its ttl', () => {
  const { clock, book, pin, othersMay } = setup()
  pin('/srv', 30)
  book.release('ada')
  const refusal = book.acquire({ holder: 'bob', paths: ['/srv'] })
  assert.ok(!refusal.granted && refusal.conflicts[0]?.expiresInMs === 30)
  clock.advance(29)
  assert.ok(!othersMay())
  clock.advance(1)
  assert.ok(othersMay())
})
