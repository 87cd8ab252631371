import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DueQueue } from '../../src/claims/due-queue.ts'
import { ClaimBook } from '../../src/claims/index.ts'
import { ManualClock } from '../support/clock.ts'

function takeAll(queue: DueQueue<number>, nowMs: number): number[] {
  const taken: number[] = []
  for (let item = queue.take(nowMs); item !== undefined; item = queue.take(nowMs)) taken.push(item)
  return taken
}

test('what is due is taken the earliest first, and nothing else is, whatever was swept before', () => {
  const due = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 200, size: 'max' })
  fc.assert(
    fc.property(due, fc.integer({ min: 0, max: 100 }), fc.boolean(), (all, nowMs, sweep) => {
      const queue = new DueQueue<number>()
      for (const dueMs of all) queue.add(dueMs, dueMs)
      const isAlive = (dueMs: number): boolean => !sweep || dueMs % 2 === 0
      if (sweep) queue.sweep(0, isAlive)
      const swept = sweep && all.length > 64
      const left = all.filter((dueMs) => !swept || isAlive(dueMs)).sort((a, b) => a - b)
      assert.deepEqual(
        takeAll(queue, nowMs),
        left.filter((dueMs) => dueMs <= nowMs),
      )
      assert.deepEqual(
        takeAll(queue, 100),
        left.filter((dueMs) => dueMs > nowMs),
      )
    }),
  )
})

test('a claim that is refreshed a thousand times ends with its last ttl, and so does its neighbour', () => {
  const clock = new ManualClock()
  const book = new ClaimBook({ workspace: 'srv', defaultTtlMs: 5_000, clock })
  book.acquire({ holder: 'bob', paths: ['/neighbour'] })
  for (let i = 0; i < 1_000; i++) {
    clock.advance(1)
    assert.ok(book.acquire({ holder: 'ada', paths: ['/srv'] }).granted)
  }
  clock.advance(3_999)
  assert.equal(book.covering('bob', '/neighbour').verdict, 'own')
  clock.advance(1)
  assert.equal(book.covering('bob', '/neighbour').verdict, 'free')
  clock.advance(999)
  assert.equal(book.covering('ada', '/srv').verdict, 'own')
  clock.advance(1)
  assert.equal(book.covering('ada', '/srv').verdict, 'free')
})
