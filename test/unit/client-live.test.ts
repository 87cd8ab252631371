import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Live, type Promised } from '../../src/client/live.ts'
import { later } from '../../src/clock/clock.ts'
import { ManualClock } from '../support/clock.ts'
import { SESSION } from './client-fixtures.ts'

const FENCE = { election: 'default', session: SESSION, generation: 7 }

function promised(clock: ManualClock, validForMs: number): Promised {
  const sentAt = clock.now()
  return { fence: FENCE, sentAt, until: later(sentAt, validForMs) }
}

function liveFor(validForMs: number): { clock: ManualClock; live: Live } {
  const clock = new ManualClock()
  return { clock, live: new Live(promised(clock, validForMs), clock, () => false) }
}

// The reply of an old question overtakes that of a newer one.
test('the answer to an older question takes nothing back and adds nothing', () => {
  const { clock, live } = liveFor(1_000)
  clock.advance(100)
  const older = promised(clock, 5_000)
  clock.advance(100)
  assert.equal(live.extend(promised(clock, 1_000)), true)
  assert.equal(live.extend(older), true)
  assert.equal(live.validForMs, 1_000)
})

test('a newer answer that promises less counts', () => {
  const { clock, live } = liveFor(1_000)
  clock.advance(100)
  live.extend(promised(clock, 300))
  assert.equal(live.validForMs, 300)
})

test('a question that left when the validity had run out revives nothing, by whichever clock it had', () => {
  for (const suspended of [true, false]) {
    const { clock, live } = liveFor(1_000)
    if (suspended) clock.advanceSuspended(1_000)
    else clock.advance(1_000)
    assert.equal(live.extend(promised(clock, 1_000)), false)
    assert.equal(live.validForMs, 0)
  }
})

test('what was ended stays ended', () => {
  const { clock, live } = liveFor(1_000)
  live.end()
  assert.equal(live.validForMs, 0)
  assert.equal(live.extend(promised(clock, 1_000)), false)
  assert.equal(live.validForMs, 0)
})

test('whatever the clocks do, nothing is valid longer than the last promise, by any clock', () => {
  const ms = fc.integer({ min: 0, max: 2_000 })
  const move = fc.record({ steadyMs: ms, bootMs: ms, wallMs: fc.integer({ min: -2_000, max: 2_000 }) })
  const step = fc.oneof(fc.record({ move }), fc.record({ validForMs: fc.integer({ min: 1, max: 2_000 }) }))
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { clock, live } = liveFor(1_000)
      let last = clock.now()
      let lastMs = 1_000
      let over = false
      for (const taken of steps) {
        if ('move' in taken) clock.move(taken.move)
        else if (live.extend(promised(clock, taken.validForMs))) {
          assert.equal(over, false, 'it was over, and was revived')
          last = clock.now()
          lastMs = taken.validForMs
        }
        const now = clock.now()
        const goneMs = Math.max(
          now.steadyMs - last.steadyMs,
          now.bootMs - last.bootMs,
          now.wallMs - last.wallMs,
        )
        assert.equal(live.validForMs, Math.max(0, lastMs - goneMs))
        if (live.validForMs === 0) over = true
      }
    }),
  )
})
