/** The claim book of a sidecar, on the real core of an election. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClaims } from '../../src/sidecar/claims.ts'
import { settle } from '../support/clock.ts'
import { leadingBench } from '../support/election.ts'
import { granted } from '../support/scripted-store.ts'

async function leadingBook() {
  const bench = await leadingBench()
  const { election, clock } = bench
  const values = { claims: true, claimsWhileLeading: election.name, identity: 'one' }
  const desk = await createClaims(values, [election], clock)
  assert.ok(desk !== null)
  const acquire = (holder: string, path: string) =>
    desk.acquire({ holder, paths: [path], ttlMs: 60_000, token: null })
  return { ...bench, desk, acquire }
}

test('without --claims there is no book, and without an election it always stands', async () => {
  const { election, clock } = await leadingBench()
  const values = { claims: false, claimsWhileLeading: null, identity: 'one' }
  assert.equal(await createClaims(values, [election], clock), null)
  const desk = await createClaims({ ...values, claims: true }, [election], clock)
  election.resign(null)
  assert.ok(desk !== null && !('void' in desk.status()))
})

test('the book is void from the moment of act-until on, although no timer has fired', async () => {
  const { clock, desk, acquire, election } = await leadingBook()
  assert.ok('token' in acquire('ada', '/srv'))
  clock.advanceFrozen(election.status().actForMs - 1)
  assert.ok(!('void' in desk.covering({}, '/srv')))
  clock.advanceFrozen(1)
  const answer = desk.covering({}, '/srv')
  assert.ok('void' in answer && /does not \(following, deadline\)/.test(answer.void))
})

test('a renewal is the same tenure and the same book; a new tenure is another, and empty', async () => {
  const { clock, store, desk, acquire } = await leadingBook()
  const first = acquire('ada', '/srv')
  assert.ok('token' in first)
  clock.advance(5_000)
  await store.last.answer(granted(1))
  assert.ok('conflicts' in acquire('bob', '/srv'), 'renewed')
  store.wake('suspect')
  await store.last.answer({ kind: 'lost' })
  assert.ok('void' in acquire('bob', '/srv'))
  await store.last.answer(granted(2))
  const second = acquire('bob', '/srv')
  assert.ok('token' in second && second.epoch !== first.epoch)
  const late = desk.release(first.token, null)
  assert.ok('reason' in late && late.reason === 'lost')
})

test('a loss and a new tenure between two operations are not missed, also by who is told of neither', async () => {
  const { store, election, clock } = await leadingBench()
  const values = { claims: true, claimsWhileLeading: election.name, identity: 'one' }
  const silent = { name: election.name, status: () => election.status(), onTransition: () => () => {} }
  const desk = await createClaims(values, [silent], clock)
  const acquire = (holder: string) => desk?.acquire({ holder, paths: ['/srv'], ttlMs: 60_000, token: null })
  const first = acquire('ada')
  store.wake('suspect')
  await store.last.answer({ kind: 'lost' })
  await store.last.answer(granted(2))
  const second = acquire('bob')
  assert.ok(first && second && 'token' in first && 'token' in second)
  assert.notEqual(first.epoch, second.epoch)
})

test('who waits hears of the loss at once', async () => {
  const { election, desk, acquire } = await leadingBook()
  acquire('ada', '/srv')
  const request = { holder: 'bob', paths: ['/srv'], ttlMs: 1_000, token: null }
  let told: object | null = null
  desk.acquireWithin(request, 30_000, new AbortController().signal).then((answer) => {
    told = answer
  })
  await settle()
  assert.equal(told, null)
  election.resign(null)
  await settle()
  assert.ok(told !== null && 'void' in told)
})
