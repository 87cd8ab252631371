import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunOptions, RunOutcome, RunTenure } from '../../src/client/index.ts'
import { TenureLostError } from '../../src/client/index.ts'
import type { Fenced } from '../../src/fencing/fence.ts'
import { settle } from '../support/clock.ts'
import { until } from '../support/sidecar.ts'
import { leadership } from '../support/stand-in.ts'
import { type Bench, bench, draining, leading, OTHER_SESSION, SESSION } from './client-fixtures.ts'

const FENCE = { election: 'default', session: SESSION, generation: 7 }
const STALE: Fenced<number> = { ok: false, reason: 'stale', current: { generation: 9, holder: 'web-2' } }

interface Working<T> extends Bench {
  readonly tenure: RunTenure
  readonly signal: AbortSignal
  readonly outcome: Promise<RunOutcome<T>>
  /** How often the function was called. */
  calls(): number
  returns(value: T): void
  throws(error: unknown): void
}

/** A run whose function has been called and waits for the test. */
async function working<T = string>(
  one: Bench,
  options: RunOptions = {},
  answer: unknown = leading(),
): Promise<Working<T>> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const began = Promise.withResolvers<[RunTenure, AbortSignal]>()
  let calls = 0
  const outcome = one.client.run<T>((tenure, signal) => {
    calls++
    began.resolve([tenure, signal])
    return promise
  }, options)
  const asked = await one.respondent.next('plain')
  asked.reply(answer)
  const [tenure, signal] = await began.promise
  return { ...one, tenure, signal, outcome, calls: () => calls, returns: resolve, throws: reject }
}

/** Moves to the next question of a run, and answers it. */
async function askedAgain({ clock, respondent }: Bench, afterMs: number, body: unknown): Promise<void> {
  clock.advance(afterMs)
  const asked = await respondent.next('plain')
  asked.reply(body)
}

async function drainedBy({ respondent }: Bench): Promise<unknown> {
  const asked = await respondent.next('drained')
  assert.equal(asked.header, '1')
  assert.equal(asked.url.searchParams.get('election'), 'default')
  asked.reply({ election: 'default', generation: 7 })
  return JSON.parse(asked.body)
}

async function aborted(signal: AbortSignal): Promise<TenureLostError> {
  await until('the signal is aborted', () => (signal.aborted ? true : null))
  assert.ok(signal.reason instanceof TenureLostError)
  return signal.reason
}

test('the function is called once, under the tenure, and its value is the outcome', async (t) => {
  const run = await working(await bench(t))
  assert.deepEqual({ ...run.tenure }, FENCE)
  assert.equal(run.tenure.fence, `${SESSION}/7`)
  assert.equal(run.signal.aborted, false)
  run.returns('done')
  await drainedBy(run)
  assert.deepEqual(await run.outcome, { ended: 'returned', tenure: FENCE, value: 'done' })
  assert.equal(run.calls(), 1)
  assert.equal(run.clock.timers, 0)
})

test('drained is sent for the generation of the run, and only after the function has settled', async (t) => {
  const run = await working(await bench(t))
  await askedAgain(run, 500, leading())
  await until('it is extended', () => (run.tenure.validForMs === 1_000 ? true : null))
  await askedAgain(run, 500, draining())
  await aborted(run.signal)
  await settle()
  assert.equal(run.respondent.count('drained'), 0, 'the function still works')
  run.returns('done')
  assert.deepEqual(await drainedBy(run), { generation: 7 })
  await run.outcome
  assert.equal(run.respondent.count('drained'), 1)
})

test('each answer under the same generation extends the validity, from its own send', async (t) => {
  const run = await working(await bench(t))
  run.clock.advance(500)
  const asked = await run.respondent.next('plain')
  run.clock.advance(200)
  assert.equal(run.tenure.validForMs, 300)
  asked.reply(leading())
  await until('it is extended', () => (run.tenure.validForMs === 800 ? true : null))
  run.returns('done')
  await drainedBy(run)
  assert.equal((await run.outcome).ended, 'returned')
})

test('the signal is aborted when the validity runs out without an answer', async (t) => {
  const run = await working(await bench(t))
  run.clock.advance(500)
  const asked = await run.respondent.next('plain')
  run.clock.advance(499)
  await settle()
  assert.equal(run.signal.aborted, false)
  run.clock.advance(1)
  assert.equal((await aborted(run.signal)).reason, 'expired')
  assert.equal(run.tenure.isValid(), false)
  await until('the question is given up', () => (asked.gone ? true : null))
  run.returns('late')
  await drainedBy(run)
  const outcome = await run.outcome
  assert.ok(outcome.ended === 'lost')
  assert.equal(outcome.reason, 'expired')
  assert.deepEqual(outcome.work, { settled: 'returned', value: 'late' })
})

test('a time-out longer than the validity does not put its end off', async (t) => {
  const run = await working(await bench(t, { timeoutMs: 5_000 }))
  run.clock.advance(500)
  await run.respondent.next('plain')
  run.clock.advance(500)
  assert.equal((await aborted(run.signal)).reason, 'expired')
  run.returns('x')
  await drainedBy(run)
  await run.outcome
})

test('a sidecar that is gone ends nothing at once: what it promised stays true until it runs out', async (t) => {
  const run = await working(await bench(t))
  await run.respondent.stop()
  await run.clock.elapse(500)
  await until('the refused question is over', () => (run.clock.timers === 1 ? true : null))
  assert.equal(run.signal.aborted, false)
  assert.equal(run.tenure.isValid(), true)
  await until('the signal is aborted', async () => {
    await run.clock.elapse(5)
    return run.signal.aborted ? true : null
  })
  assert.equal(run.clock.now().steadyMs >= 1_000, true)
  assert.match(String(run.signal.reason), /expired.*no sidecar answers/)
  run.returns('x')
  const drive = until('the run has ended', async () => {
    await run.clock.elapse(50)
    return run.respondent.count('drained') === 0 && run.clock.timers === 0 ? true : null
  })
  assert.equal((await run.outcome).ended, 'lost')
  await drive
})

test('a question that failed is asked again within the validity, and extends it then', async (t) => {
  const run = await working(await bench(t))
  run.clock.advance(500)
  const failed = await run.respondent.next('plain')
  failed.reply({ error: { code: 'fault', message: 'a defect' } }, 500)
  await until('it waits to ask again', async () => {
    await run.clock.elapse(10)
    return run.respondent.count('plain') === 3 ? true : null
  })
  const asked = await run.respondent.next('plain')
  asked.reply(leading())
  await until('it is extended', () => (run.tenure.validForMs > 500 ? true : null))
  assert.equal(run.signal.aborted, false)
  run.returns('done')
  await drainedBy(run)
  assert.equal((await run.outcome).ended, 'returned')
})

const ENDED: readonly (readonly [string, unknown, string])[] = [
  ['the sidecar does not lead any more', leadership(), 'not-leading'],
  ['the sidecar is draining', draining(), 'draining'],
  ['a later generation of the same session', leading({ generation: 9 }), 'superseded'],
  ['the same generation of another session', leading({ session: OTHER_SESSION }), 'superseded'],
]

for (const [what, body, reason] of ENDED) {
  test(`an explicit answer ends a run at once, inside its validity: ${what}`, async (t) => {
    const run = await working(await bench(t))
    await askedAgain(run, 500, body)
    assert.equal((await aborted(run.signal)).reason, reason)
    assert.deepEqual([run.tenure.isValid(), run.tenure.validForMs], [false, 0])
    run.throws(new Error('the work was cut off'))
    assert.deepEqual(await drainedBy(run), { generation: 7 })
    const outcome = await run.outcome
    assert.ok(outcome.ended === 'lost' && outcome.reason === reason)
    assert.ok(outcome.work.settled === 'threw')
    assert.equal(String(outcome.work.error), 'Error: the work was cut off')
    assert.equal(run.calls(), 1)
  })
}

test('a stale write ends the run at once, and the result passes through', async (t) => {
  const run = await working(await bench(t))
  const fresh: Fenced<number> = { ok: true, value: 1 }
  assert.equal(run.tenure.heed(fresh), fresh)
  assert.deepEqual(run.tenure.heed({ ok: false, reason: 'full' }), { ok: false, reason: 'full' })
  assert.equal(run.signal.aborted, false)
  assert.equal(run.tenure.heed(STALE), STALE)
  assert.equal(run.signal.aborted, true, 'in the same turn')
  assert.equal(run.tenure.isValid(), false)
  run.returns('x')
  await drainedBy(run)
  const outcome = await run.outcome
  assert.ok(outcome.ended === 'lost' && outcome.reason === 'stale')
})

test('a stale result that the function returns counts as a loss, too', async (t) => {
  const run = await working<Fenced<number>>(await bench(t))
  run.returns(STALE)
  await drainedBy(run)
  const outcome = await run.outcome
  assert.ok(outcome.ended === 'lost' && outcome.reason === 'stale')
  assert.deepEqual(outcome.work, { settled: 'returned', value: STALE })
})

test('an error of the function itself, while this instance leads, is thrown, after drained', async (t) => {
  const run = await working(await bench(t))
  const error = new Error('of its own')
  run.throws(error)
  const thrown = assert.rejects(run.outcome, error)
  await drainedBy(run)
  await thrown
  assert.equal(run.clock.timers, 0)
})

test('a function that throws before its first wait is treated alike', async (t) => {
  const one = await bench(t)
  const error = new Error('of its own')
  const thrown = assert.rejects(
    one.client.run(() => {
      throw error
    }),
    error,
  )
  const asked = await one.respondent.next('plain')
  asked.reply(leading())
  await drainedBy(one)
  await thrown
})

// Frozen: every clock has moved on and no timer has fired when the work goes on.
test('work that ends after the validity ran out was lost, although nothing had noticed yet', async (t) => {
  const run = await working(await bench(t))
  run.clock.advanceFrozen(1_000)
  assert.equal(run.tenure.isValid(), false)
  assert.equal(run.signal.aborted, false, 'no timer has fired')
  run.returns('too late')
  await drainedBy(run)
  const outcome = await run.outcome
  assert.ok(outcome.ended === 'lost' && outcome.reason === 'expired')
})

test('a suspend ends the run at its next timer, before anything is asked', async (t) => {
  const run = await working(await bench(t))
  run.clock.advanceSuspended(5_000)
  assert.equal(run.tenure.isValid(), false)
  run.clock.advance(500)
  assert.equal((await aborted(run.signal)).reason, 'expired')
  assert.equal(run.respondent.count('plain'), 1)
  run.returns('x')
  await drainedBy(run)
  await run.outcome
})

// The answer was sent for a question inside the validity; the process stood still before it was read.
test('an answer read after its own end extends nothing', async (t) => {
  const run = await working(await bench(t))
  run.clock.advance(500)
  const asked = await run.respondent.next('plain')
  run.clock.advanceFrozen(1_000)
  asked.reply(leading())
  assert.equal((await aborted(run.signal)).reason, 'expired')
  run.returns('x')
  await drainedBy(run)
  await run.outcome
})

test('the caller stops a run: the signal carries his reason, the work is waited for under a valid tenure', async (t) => {
  const stop = new AbortController()
  const run = await working(await bench(t), { signal: stop.signal })
  const why = new Error('deploy')
  stop.abort(why)
  assert.equal(run.signal.reason, why)
  await askedAgain(run, 500, leading())
  await until('it is still extended', () => (run.tenure.validForMs === 1_000 ? true : null))
  assert.equal(run.respondent.count('drained'), 0)
  run.throws(why)
  await drainedBy(run)
  assert.deepEqual(await run.outcome, {
    ended: 'stopped',
    tenure: FENCE,
    work: { settled: 'threw', error: why },
  })
})

test('a tenure that is lost while a stopped run winds up is told as lost', async (t) => {
  const stop = new AbortController()
  const run = await working(await bench(t), { signal: stop.signal })
  stop.abort()
  await askedAgain(run, 500, leadership())
  await until('the tenure is over', () => (run.tenure.isValid() ? null : true))
  run.returns('x')
  await drainedBy(run)
  const outcome = await run.outcome
  assert.ok(outcome.ended === 'lost' && outcome.reason === 'not-leading')
})

test('a run that is stopped before it leads never calls, and asks no more', async (t) => {
  const stop = new AbortController()
  const { respondent, client, clock } = await bench(t)
  const seen: string[] = []
  const outcome = client.run(() => assert.fail('called'), {
    signal: stop.signal,
    waiting: ({ reason }) => seen.push(reason),
  })
  const asked = await respondent.next('plain')
  asked.reply(leadership())
  const poll = await respondent.next('poll')
  assert.deepEqual(seen, ['not-leading'])
  stop.abort()
  assert.deepEqual(await outcome, { ended: 'stopped', tenure: null, work: null })
  await until('the poll is given up', () => (poll.gone ? true : null))
  assert.equal(clock.timers, 0)
  assert.equal(respondent.count('drained'), 0)
})

test('a run whose signal is aborted beforehand asks nothing', async (t) => {
  const { respondent, client } = await bench(t)
  const outcome = await client.run(() => assert.fail('called'), { signal: AbortSignal.abort() })
  assert.equal(outcome.ended, 'stopped')
  assert.equal(respondent.asked.length, 0)
})

// The push was true when it was sent. What counts is the plain answer.
test('a push that says "leading" starts nothing: the plain question after it does', async (t) => {
  const { respondent, client, clock } = await bench(t)
  let calls = 0
  const outcome = client.run(() => ++calls)
  const first = await respondent.next('plain')
  first.reply(leadership())
  const poll = await respondent.next('poll')
  assert.equal(poll.url.searchParams.get('after'), 'r1')
  clock.advance(100)
  poll.reply(leading({ validForMs: 60_000 }))
  const second = await respondent.next('plain')
  assert.equal(calls, 0)
  second.reply(leadership({ revision: 'r4' }))
  const again = await respondent.next('poll')
  assert.equal(again.url.searchParams.get('after'), 'r4')
  assert.equal(calls, 0)
  clock.advance(100)
  again.reply(leading({ revision: 'r5', validForMs: null }))
  const third = await respondent.next('plain')
  third.reply(leading())
  await until('it is called', () => (calls === 1 ? true : null))
  const drained = await respondent.next('drained')
  drained.reply({})
  assert.equal((await outcome).ended, 'returned')
})

test('run takes a function', async (t) => {
  const { client } = await bench(t)
  // @ts-expect-error: what a caller without types may do
  await assert.rejects(client.run('work'), { name: 'TypeError', message: /function/ })
})
