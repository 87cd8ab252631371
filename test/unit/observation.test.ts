import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Observation } from '../../src/stores/observation.ts'
import { ManualClock } from '../support/clock.ts'

test('a mark that is new has been seen for no time', () => {
  const clock = new ManualClock()
  const observation = new Observation(clock)
  assert.equal(observation.mark, null)
  assert.equal(observation.unchangedMs, 0)
  assert.equal(observation.see('a'), 0)
  assert.equal(observation.mark, 'a')
})

test('a mark that stays has been seen since it was first shown', () => {
  const clock = new ManualClock()
  const observation = new Observation(clock)
  observation.see('a')
  clock.advance(700)
  assert.equal(observation.see('a'), 700)
  clock.advance(300)
  assert.equal(observation.see('a'), 1_000)
  assert.equal(observation.unchangedMs, 1_000)
})

test('a mark that changes, and one that comes back, begin anew', () => {
  const clock = new ManualClock()
  const observation = new Observation(clock)
  observation.see('a')
  clock.advance(700)
  assert.equal(observation.see('b'), 0)
  clock.advance(700)
  assert.equal(observation.see('a'), 0)
})

test('the clock that has run least counts, and the wall clock never', () => {
  const clock = new ManualClock()
  const observation = new Observation(clock)
  observation.see('a')
  clock.advanceSuspended(10_000)
  assert.equal(observation.see('a'), 0, 'a suspended observer has not observed')
  clock.stepWall(10_000)
  assert.equal(observation.see('a'), 0)
  clock.move({ steadyMs: 500, bootMs: 400, wallMs: -9_000 })
  assert.equal(observation.see('a'), 500)
})
