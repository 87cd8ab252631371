import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attempt, ClaimBook, type Queued } from '../../src/claims/index.ts'
import { CLAIMS_MOST, PATHS_MOST, WAITS_MOST } from '../../src/claims/limits.ts'
import { ManualClock } from '../support/clock.ts'

function setup() {
  const clock = new ManualClock()
  const book = new ClaimBook({ workspace: 'srv', defaultTtlMs: 1_000, clock })
  const wait = (holder: string, ...paths: string[]): Attempt =>
    book.waitAttempt({ holder, paths, waitMs: 500 })
  const hold = (holder: string, ...paths: string[]): void => {
    assert.ok(book.acquire({ holder, paths }).granted, `${holder} holds ${paths}`)
  }
  return { clock, book, wait, hold }
}

function queued(attempt: Attempt): Queued {
  assert.ok('ticket' in attempt, `in the queue: ${JSON.stringify(attempt)}`)
  return attempt
}

function reason(attempt: Attempt): string {
  return attempt.granted ? 'granted' : attempt.reason
}

/** Whether a promise has resolved by now. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false
  promise.then(() => {
    done = true
  })
  await Promise.resolve()
  await Promise.resolve()
  return done
}

test('an attempt that nothing stands in the way of is granted, and leaves nobody in the queue', () => {
  const { book, wait } = setup()
  assert.equal(reason(wait('ada', '/srv')), 'granted')
  assert.deepEqual(book.status().waits, [])
})

test('a wait says who it is for, and when to try again', () => {
  const { clock, wait, hold } = setup()
  hold('ada', '/srv/src')
  clock.advance(700)
  const first = queued(wait('bob', '/srv'))
  assert.deepEqual([first.conflicts.length, first.ahead.length, first.nextInMs], [1, 0, 300])
  const second = queued(wait('cy', '/srv/docs'))
  assert.deepEqual(second.ahead, [
    { path: '/srv/docs', waitedPath: '/srv', holder: 'bob', waitingForMs: 0, endsInMs: 500 },
  ])
  assert.deepEqual([second.conflicts.length, second.nextInMs], [0, 500])
})

test('a waiter is told when it is free to go, and only after the operation that freed it', async () => {
  const { book, wait, hold } = setup()
  hold('ada', '/srv')
  const first = queued(wait('bob', '/srv/a'))
  const second = queued(wait('cy', '/srv/a/b'))
  const other = queued(wait('di', '/srv/c'))
  const order: string[] = []
  first.changed.then(() => order.push('told'))
  book.release('ada')
  order.push('released')
  assert.ok(await isDone(first.changed))
  assert.deepEqual(order, ['released', 'told'])
  assert.ok(await isDone(other.changed), 'both that are free to go')
  assert.ok(!(await isDone(second.changed)), 'and not the one behind')
  assert.equal(reason(book.attemptAgain(second.ticket)), 'waiting')
  assert.equal(reason(book.attemptAgain(first.ticket)), 'granted')
  assert.equal(reason(book.attemptAgain(second.ticket)), 'waiting', 'now behind the claim')
})

test('nobody overtakes an earlier overlapping wait, whether it waits itself or not', () => {
  const { book, wait, hold } = setup()
  hold('ada', '/srv/src')
  const first = queued(wait('bob', '/srv/src', '/srv/docs'))
  const late = book.acquire({ holder: 'cy', paths: ['/srv/docs/index.md'] })
  assert.ok(!late.granted && late.reason === 'conflict')
  assert.deepEqual([late.conflicts.length, late.ahead[0]?.holder], [0, 'bob'])
  queued(wait('cy', '/srv/docs'))
  assert.equal(reason(wait('di', '/srv/elsewhere')), 'granted', 'who does not overlap passes')
  book.release('ada')
  assert.ok(!book.acquire({ holder: 'cy', paths: ['/srv/docs'] }).granted, 'not even when it is free')
  assert.equal(reason(book.attemptAgain(first.ticket)), 'granted')
})

test('a holder may refresh what others wait for, and take nothing new that they wait for', () => {
  const { book, clock, wait, hold } = setup()
  hold('ada', '/srv/src')
  queued(wait('bob', '/srv'))
  clock.advance(10)
  assert.ok(book.acquire({ holder: 'ada', paths: ['/srv/src'] }).granted)
  assert.ok(!book.acquire({ holder: 'ada', paths: ['/srv/src/deep'] }).granted)
  assert.ok(!book.acquire({ holder: 'ada', paths: ['/srv/src', '/srv/docs'] }).granted)
})

test("a holder's own claims and own earlier waits do not stand in its way", () => {
  const { book, wait, hold } = setup()
  hold('ada', '/srv/src')
  hold('bob', '/srv/docs')
  queued(wait('ada', '/srv'))
  assert.ok(book.acquire({ holder: 'ada', paths: ['/srv/src/deep'] }).granted)
  assert.equal(reason(wait('ada', '/srv/new')), 'granted')
})

test('a wait ends at its bound, never later, and frees those behind it', async () => {
  const { clock, book, wait, hold } = setup()
  hold('ada', '/srv/src')
  const first = queued(book.waitAttempt({ holder: 'bob', paths: ['/srv'], waitMs: 100 }))
  const second = queued(wait('cy', '/srv/docs'))
  clock.advance(99)
  assert.equal(reason(book.attemptAgain(first.ticket)), 'waiting')
  clock.advance(1)
  assert.equal(reason(book.attemptAgain(second.ticket)), 'granted')
  assert.equal(reason(book.attemptAgain(first.ticket)), 'timeout')
  book.release('ada')
  assert.equal(reason(book.attemptAgain(first.ticket)), 'timeout', 'also when all is free by now')
})

test('a wait that was given up says so, and frees those behind it', async () => {
  const { book, wait, hold } = setup()
  hold('ada', '/srv/src')
  const first = queued(wait('bob', '/srv'))
  const second = queued(wait('cy', '/srv/docs'))
  assert.equal(book.endWait(first.ticket), true)
  assert.ok(await isDone(second.changed))
  assert.equal(book.endWait(first.ticket), false)
  assert.equal(reason(book.attemptAgain(first.ticket)), 'cancelled')
  assert.equal(reason(book.attemptAgain(second.ticket)), 'granted')
})

test('a ticket is good for one grant, and for its own book', () => {
  const { book, wait, hold } = setup()
  hold('ada', '/srv')
  const { ticket } = queued(wait('bob', '/srv'))
  book.release('ada')
  assert.equal(reason(book.attemptAgain(ticket)), 'granted')
  assert.equal(reason(book.attemptAgain(ticket)), 'cancelled')
  assert.throws(() => setup().book.attemptAgain(ticket), RangeError)
  assert.throws(() => book.attemptAgain({ ticket: 1 }), RangeError, 'a look-alike is none')
})

test('a cycle of any length is refused at the edge that closes it, and named', () => {
  for (const length of [2, 3, 10]) {
    const { book, wait, hold } = setup()
    const names = Array.from({ length }, (_, i) => `agent-${i}`)
    for (const [i, name] of names.entries()) hold(name, `/srv/${i}`)
    for (let i = 0; i < length - 1; i++) queued(wait(`agent-${i}`, `/srv/${i + 1}`))
    const closing = wait(`agent-${length - 1}`, '/srv/0')
    assert.ok('cycle' in closing && closing.reason === 'cycle', `length ${length}`)
    assert.deepEqual(closing.cycle, [`agent-${length - 1}`, ...names.slice(0, -1)])
    assert.equal(book.status().waits.length, length - 1, 'and takes no place')
    assert.equal(reason(wait(`agent-${length - 1}`, '/srv/free')), 'granted')
  }
})

test('a cycle through a place in the queue is one as well', () => {
  const { wait, hold } = setup()
  hold('ada', '/a')
  hold('bob', '/b')
  queued(wait('cy', '/a', '/c'))
  // bob would wait behind cy, who waits for ada, who would then wait for bob.
  queued(wait('bob', '/c'))
  const closing = wait('ada', '/b')
  assert.ok('cycle' in closing)
  assert.deepEqual(closing.cycle, ['ada', 'bob', 'cy'])
})

test('two waits of one holder count together when a cycle is looked for', () => {
  const { wait, hold } = setup()
  hold('ada', '/a')
  hold('bob', '/b')
  hold('cy', '/c')
  queued(wait('ada', '/c'))
  queued(wait('ada', '/b'))
  assert.equal(reason(wait('bob', '/a')), 'cycle')
  assert.equal(reason(wait('cy', '/a')), 'cycle')
})

test('when the blocker that closed a cycle is gone, the same wait is taken', () => {
  const { book, wait, hold } = setup()
  hold('ada', '/a')
  hold('bob', '/b')
  const first = queued(wait('ada', '/b'))
  assert.equal(reason(wait('bob', '/a')), 'cycle')
  book.endWait(first.ticket)
  assert.equal(reason(wait('bob', '/a')), 'waiting')
})

test('more waits than there is room for are refused', () => {
  const { wait, hold } = setup()
  hold('ada', '/srv')
  for (let i = 0; i < WAITS_MOST; i++) queued(wait(`agent-${i}`, `/srv/${i}`))
  assert.equal(reason(wait('late', '/srv/late')), 'too_many_waits')
  assert.equal(reason(wait('late', '/free')), 'granted')
})

test('a waiter for whom the full book has no room leaves the queue, and frees those behind it', async () => {
  const { book, wait, hold } = setup()
  hold('ada', '/x')
  for (let i = 1; i < CLAIMS_MOST; i += PATHS_MOST) {
    const length = Math.min(PATHS_MOST, CLAIMS_MOST - i)
    hold('ada', ...Array.from({ length }, (_, j) => `/full/${i + j}`))
  }
  const first = queued(wait('bob', '/x', '/y'))
  const second = queued(wait('cy', '/y/z'))
  book.release('ada', ['/x'])
  assert.equal(reason(book.attemptAgain(first.ticket)), 'too_many_claims')
  assert.ok(await isDone(second.changed))
  assert.equal(reason(book.attemptAgain(second.ticket)), 'granted')
})

test('who was told and still has to wait is told anew, and not for ever by the same promise', async () => {
  const { book, wait, hold } = setup()
  hold('ada', '/srv')
  const first = queued(wait('bob', '/srv'))
  hold('bob', '/elsewhere')
  assert.ok(await isDone(first.changed), 'to hold something may matter to a wait')
  const again = queued(book.attemptAgain(first.ticket))
  assert.ok(!(await isDone(again.changed)))
  book.release('ada')
  assert.ok(await isDone(again.changed))
})

test('a long queue for one path is looked through once, not once for each way through it', {
  timeout: 30_000,
}, () => {
  const { wait, hold } = setup()
  hold('ada', '/srv')
  for (let i = 0; i < 60; i++) queued(wait(`agent-${i}`, '/srv'))
})

test('a wait for more takes no path along that others wait for: once released, they would wait for each other', () => {
  const { book, wait, hold } = setup()
  hold('ada', '/a')
  hold('bob', '/b')
  const first = queued(wait('cy', '/b'))
  // As long as bob holds /b this would be a refresh. Without it, bob would stand behind cy, and cy behind bob.
  const closing = wait('bob', '/b', '/a')
  assert.ok('cycle' in closing)
  assert.deepEqual(closing.cycle, ['bob', 'cy'])
  queued(wait('bob', '/a'))
  queued(wait('cy', '/a'))
  book.release('bob', ['/b'])
  assert.equal(reason(book.attemptAgain(first.ticket)), 'granted')
  assert.equal(reason(wait('cy', '/b')), 'granted', 'a refresh at once is one, waiting or not')
})
