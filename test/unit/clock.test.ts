import assert from 'node:assert/strict'
import { uptime } from 'node:os'
import { test } from 'node:test'
import { bootClock, bootClockId } from '../../src/clock/boot-clock.ts'
import { later, longestElapsedMs, remainingMs, shortestElapsedMs, toWaitMs } from '../../src/clock/clock.ts'
import { PULSE_MS, Pulse } from '../../src/clock/pulse.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { ManualClock } from '../support/clock.ts'

test('our own deadline ends by the clock that ran furthest, what we wait for by the steady one that ran least', () => {
  const clock = new ManualClock()
  const from = clock.now()
  const deadline = later(from, 1_000)
  clock.advanceSuspended(600)
  clock.advance(100)
  assert.equal(remainingMs(deadline, clock.now()), 300)
  assert.equal(toWaitMs(deadline, clock.now()), 900)
  clock.stepWall(10_000)
  assert.equal(longestElapsedMs(from, clock.now()), 10_700)
  assert.equal(shortestElapsedMs(from, clock.now()), 100, 'the wall clock has no say in waiting')
})

test('a wall clock that steps back is left out of every elapsed time', () => {
  const clock = new ManualClock()
  const from = clock.now()
  clock.stepWall(-5_000)
  clock.advance(10)
  assert.equal(longestElapsedMs(from, clock.now()), 10)
})

test('the system clocks move on together, and the boot clock is that of the machine', () => {
  const clock = systemClock()
  const from = clock.now()
  const until = performance.now() + 50
  while (performance.now() < until);
  const to = clock.now()
  assert.ok(to.steadyMs - from.steadyMs >= 50)
  assert.ok(to.bootMs - from.bootMs >= 30 && to.bootMs - from.bootMs < 5_000)
  assert.ok(to.wallMs - from.wallMs >= 48)
  assert.ok(Math.abs(bootClock()() - uptime() * 1_000) < 100)
})

test("two processes on one machine name the same boot clock; an uptime of its own is nobody else's", () => {
  assert.equal(systemClock().bootClockId, systemClock().bootClockId)
  assert.equal(bootClockId(1_000, 900_000, 'mine alone'), 'mine alone')
  assert.notEqual(bootClockId(900_000, 900_000, 'mine alone'), 'mine alone')
})

test('a timer for longer than setTimeout can count does not fire at once', async () => {
  let fired = false
  const cancel = systemClock().after(2 ** 40, () => {
    fired = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  cancel()
  assert.equal(fired, false)
})

test('a beat that comes late is a pause, and so is a gap between the clocks', () => {
  const clock = new ManualClock()
  const pauses: number[] = []
  let beats = 0
  const pulse = new Pulse(
    clock,
    () => beats++,
    (pauseMs) => pauses.push(Math.round(pauseMs)),
  )
  pulse.start()
  clock.advance(10 * PULSE_MS)
  assert.deepEqual([beats, pauses], [10, []])
  clock.advanceSuspended(3_000)
  assert.equal(pulse.silentMs, 3_000)
  clock.advance(PULSE_MS)
  assert.deepEqual(pauses, [3_000])
  pulse.stop()
  clock.advance(10_000)
  assert.equal(beats, 11)
})
