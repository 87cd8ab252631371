import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Check } from '../../src/client/index.ts'
import type { Cancel } from '../../src/clock/clock.ts'
import { ManualClock, settle } from '../support/clock.ts'
import { until } from '../support/sidecar.ts'
import { leadership } from '../support/stand-in.ts'
import { type Bench, bench, draining, leading, OTHER_SESSION } from './client-fixtures.ts'

class Watching {
  readonly one: Bench
  readonly stop = new AbortController()
  readonly #iterator: AsyncIterator<Check>

  constructor(one: Bench) {
    this.one = one
    this.#iterator = one.client.watch({ signal: this.stop.signal })[Symbol.asyncIterator]()
  }

  async read(): Promise<Check> {
    const { done, value } = await this.#iterator.next()
    assert.ok(!done, 'it has ended')
    return value
  }

  async isOver(): Promise<boolean> {
    return (await this.#iterator.next()).done === true
  }

  async answer(body: unknown): Promise<void> {
    const asked = await this.one.respondent.next('plain')
    asked.reply(body)
  }
}

function summary(check: Check): string {
  return check.leading ? `leading ${check.tenure.generation}` : check.reason
}

/** Reads, while `during` plays the sidecar. */
async function readWhile(watching: Watching, during: () => Promise<void>): Promise<string> {
  const [check] = await Promise.all([watching.read(), during()])
  return summary(check)
}

test('the present state comes first, then each change; a push only hastens the next question', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  assert.equal(await readWhile(watching, () => watching.answer(leadership())), 'not-leading')
  const next = await readWhile(watching, async () => {
    const poll = await one.respondent.next('poll')
    assert.equal(poll.url.searchParams.get('wait'), '30000ms')
    one.clock.advance(4_000)
    poll.reply(leading({ validForMs: 9_000 }))
    await watching.answer(leading({ generation: 8 }))
  })
  assert.equal(next, 'leading 8', 'what the plain answer said')
  watching.stop.abort()
  assert.equal(await watching.isOver(), true)
})

test('a push that says "leading" and a plain answer that does not are no change', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  await readWhile(watching, () => watching.answer(leadership()))
  const next = watching.read()
  const poll = await one.respondent.next('poll')
  one.clock.advance(4_000)
  poll.reply(leading())
  await watching.answer(leadership({ revision: 'r9' }))
  const again = await one.respondent.next('poll')
  one.clock.advance(4_000)
  again.reply(leadership({ revision: 'r10' }))
  const current = { holder: 'web-3', generation: 8, expiresInMs: 1, observedAgeMs: 1 }
  await watching.answer(leadership({ revision: 'r10', current }))
  const check = await next
  assert.ok(!check.leading)
  assert.deepEqual(check.current, { holder: 'web-3', generation: 8 })
})

test('a tenure that is watched stays valid while the next change is waited for', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  const first = watching.read()
  await watching.answer(leading())
  const check = await first
  assert.ok(check.leading)
  const next = watching.read()
  for (let times = 0; times < 3; times++) {
    one.clock.advance(500)
    await watching.answer(leading())
    await until('it is extended', () => (check.tenure.validForMs === 1_000 ? true : null))
  }
  one.clock.advance(500)
  await watching.answer(draining())
  assert.equal(summary(await next), 'draining')
  assert.equal(check.tenure.isValid(), false, 'inside its validity: the sidecar said so')
})

for (const [what, more] of [
  ['a later generation', { generation: 9 }],
  ['another session', { session: OTHER_SESSION }],
] as const) {
  test(`a tenure that follows without a gap is a change: ${what}`, async (t) => {
    const one = await bench(t)
    const watching = new Watching(one)
    const first = watching.read()
    await watching.answer(leading())
    const check = await first
    assert.ok(check.leading)
    const next = watching.read()
    one.clock.advance(500)
    await watching.answer(leading(more))
    const later = await next
    assert.ok(later.leading && later.tenure.isValid())
    assert.notEqual(later.tenure.fence, check.tenure.fence)
    assert.equal(check.tenure.isValid(), false)
  })
}

test('nothing is asked or extended between two reads; who comes back too late reads the present anew', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  const first = watching.read()
  await watching.answer(leading())
  const check = await first
  assert.ok(check.leading)
  assert.equal(one.clock.timers, 0)
  await one.clock.elapse(1_000)
  assert.equal(check.tenure.isValid(), false)
  assert.equal(one.respondent.asked.length, 1)
  const next = watching.read()
  await watching.answer(leading())
  const later = await next
  assert.ok(later.leading && later.tenure.isValid())
})

/** Notes how long each wait was meant to be. */
class NotingClock extends ManualClock {
  readonly delays: number[] = []

  override after(delayMs: number, fire: () => void): Cancel {
    this.delays.push(delayMs)
    return super.after(delayMs, fire)
  }
}

test('a sidecar that is gone is told once, and is asked on at a bounded pace', async (t) => {
  const clock = new NotingClock()
  const timeoutMs = 60_000
  const one = await bench(t, { clock, timeoutMs })
  const watching = new Watching({ ...one, clock })
  await one.respondent.stop()
  assert.equal(summary(await watching.read()), 'unreachable')
  let told: string | null = null
  const next = watching.read().then((check) => {
    told = summary(check)
  })
  const pauses = await until('it paused several times', () => {
    clock.advance(100)
    const found = clock.delays.filter((ms) => ms !== timeoutMs)
    return found.length >= 8 ? found : null
  })
  for (const [index, ms] of pauses.entries()) {
    const mostMs = Math.min(2_000, 100 * 2 ** index)
    assert.ok(ms >= mostMs / 2 && ms <= mostMs, `pause ${index}: ${ms} ms of at most ${mostMs}`)
  }
  assert.equal(new Set(pauses).size, pauses.length, 'no two are equal')
  assert.equal(told, null)
  await one.respondent.start()
  await until('it is asked again', () => {
    clock.advance(100)
    return one.respondent.count('plain') > 0 ? true : null
  })
  await watching.answer(leading())
  await next
  assert.equal(told, 'leading 7')
})

test('a leader whose sidecar falls silent is told when the validity has run out, not before', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  const first = watching.read()
  await watching.answer(leading())
  const check = await first
  assert.ok(check.leading)
  let told: string | null = null
  const next = watching.read().then((later) => {
    told = summary(later)
  })
  one.clock.advance(500)
  await one.respondent.next('plain')
  await one.clock.elapse(499)
  assert.equal(told, null)
  await one.clock.elapse(1)
  await next
  assert.equal(told, 'timeout')
})

// A leader that cannot promise for a moment renews without a transition: a long poll would sleep through it.
test('"not leading" from a leader that cannot promise just now is asked again, not waited out', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  const first = watching.read()
  await watching.answer(leadership({ state: 'leading', reason: 'elected' }))
  assert.equal(summary(await first), 'not-leading')
  const next = watching.read()
  await until('it asks again', async () => {
    await one.clock.elapse(10)
    return one.respondent.count('plain') === 2 ? true : null
  })
  assert.equal(one.respondent.count('poll'), 0)
  await watching.answer(leading())
  assert.equal(summary(await next), 'leading 7')
})

test('long polls that come back at once and bring nothing new are backed off from', async (t) => {
  const clock = new NotingClock()
  const timeoutMs = 60_000
  const one = await bench(t, { clock, timeoutMs })
  const watching = new Watching({ ...one, clock })
  await readWhile(watching, () => watching.answer(leadership()))
  watching.read().catch(() => {})
  const pauses = () => clock.delays.filter((ms) => ms < 2_000)
  for (let times = 1; times <= 3; times++) {
    const poll = await one.respondent.next('poll')
    poll.reply(leadership())
    await until('it pauses', () => (pauses().length === times ? true : null))
    await clock.elapse(400)
    await watching.answer(leadership())
  }
  watching.stop.abort()
  for (const [index, ms] of pauses().entries()) assert.ok(ms >= 50 * 2 ** index, `pause ${index}: ${ms} ms`)
})

test('a sidecar that is gone is told once, whether it refuses or does not answer', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  const first = watching.read()
  const broken = await one.respondent.next('plain')
  broken.hangUp()
  assert.equal(summary(await first), 'unreachable')
  const next = watching.read()
  await until('it asks again', async () => {
    await one.clock.elapse(10)
    return one.respondent.count('plain') === 2 ? true : null
  })
  await until('two more questions time out', async () => {
    await one.clock.elapse(100)
    return one.respondent.count('plain') === 4 ? true : null
  })
  one.respondent.asked.at(-1)?.reply(leadership())
  assert.equal(summary(await next), 'not-leading')
})

test('news in a flood are asked after no oftener than every 50 ms', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  await readWhile(watching, () => watching.answer(leadership()))
  watching.read().catch(() => {})
  const poll = await one.respondent.next('poll')
  poll.reply(leadership({ revision: 'r2' }))
  await until('it pauses', () => (one.clock.timers === 1 ? true : null))
  await one.clock.elapse(49)
  assert.equal(one.respondent.count('plain'), 1)
  one.clock.advance(1)
  await one.respondent.next('plain')
  watching.stop.abort()
})

test('an abort ends a read that waits, and leaves no timer and no open question', async (t) => {
  const one = await bench(t)
  const watching = new Watching(one)
  await readWhile(watching, () => watching.answer(leadership()))
  const over = watching.isOver()
  const poll = await one.respondent.next('poll')
  watching.stop.abort()
  assert.equal(await over, true)
  assert.equal(one.clock.timers, 0)
  await until('the poll is given up', () => (poll.gone ? true : null))
})

test('an abort while the reader is busy ends the iteration at the next read', async (t) => {
  const one = await bench(t)
  const seen: string[] = []
  const stop = new AbortController()
  const reading = (async () => {
    for await (const check of one.client.watch({ signal: stop.signal })) {
      seen.push(summary(check))
      stop.abort()
    }
  })()
  const asked = await one.respondent.next('plain')
  asked.reply(leading())
  await reading
  assert.deepEqual(seen, ['leading 7'])
  assert.equal(one.clock.timers, 0)
})

test('an iterable that nobody reads asks nothing, and one that is left holds nothing', async (t) => {
  const one = await bench(t)
  one.client.watch()
  await settle()
  assert.equal(one.respondent.asked.length, 0)
  const reading = (async () => {
    for await (const check of one.client.watch()) return summary(check)
    return 'ended'
  })()
  const asked = await one.respondent.next('plain')
  asked.reply(leading())
  assert.equal(await reading, 'leading 7')
  assert.equal(one.clock.timers, 0)
})

test('no listener stays on the signal of the caller', async (t) => {
  const one = await bench(t)
  const stop = new AbortController()
  let listeners = 0
  const { signal } = stop
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--
    remove(...args)
  }
  const outcome = one.client.run(() => 'done', { signal })
  const asked = await one.respondent.next('plain')
  asked.reply(leading())
  const drained = await one.respondent.next('drained')
  drained.reply({})
  await outcome
  assert.equal(listeners, 0)
})
