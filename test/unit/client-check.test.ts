import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Check, NotLeadingError, TenureClient } from '../../src/client/index.ts'
import { PROMISE_MOST_MS } from '../../src/election/timing.ts'
import type { Fence } from '../../src/fencing/fence.ts'
import { until } from '../support/sidecar.ts'
import { leadership } from '../support/stand-in.ts'
import { type Bench, bench, leading, OTHER_SESSION, SESSION } from './client-fixtures.ts'

async function checkOf(
  { respondent, client }: Bench,
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Promise<Check> {
  const check = client.check()
  const asked = await respondent.next('plain')
  asked.reply(body, status, headers)
  return check
}

function heldOf(check: Check) {
  assert.ok(check.leading, JSON.stringify(check))
  return check.tenure
}

function refusalOf(check: Check) {
  assert.ok(!check.leading)
  return check
}

test('a tenure carries what a fenced write has to show', async (t) => {
  const tenure = heldOf(await checkOf(await bench(t), leading()))
  const fence: Fence = tenure
  const { election, session, generation } = fence
  assert.deepEqual(
    { election, session, generation },
    { election: 'default', session: SESSION, generation: 7 },
  )
  assert.equal(tenure.fence, `${SESSION}/7`)
  assert.equal(tenure.validForMs, 1_000)
})

test('validity counts from before the question was sent, not from its answer', async (t) => {
  const { respondent, clock, client } = await bench(t)
  const check = client.check()
  const asked = await respondent.next('plain')
  clock.advance(400)
  asked.reply(leading())
  const tenure = heldOf(await check)
  assert.equal(tenure.validForMs, 600)
  clock.advance(599)
  assert.equal(tenure.isValid(), true)
  clock.advance(1)
  assert.deepEqual([tenure.isValid(), tenure.validForMs], [false, 0])
})

test('an answer that comes after what it promised is not "leading"', async (t) => {
  const { respondent, clock, client } = await bench(t, { timeoutMs: 5_000 })
  const check = client.check()
  const asked = await respondent.next('plain')
  clock.advance(1_000)
  asked.reply(leading())
  const refusal = refusalOf(await check)
  assert.equal(refusal.reason, 'late')
  assert.deepEqual(refusal.current, { holder: 'web-1', generation: 7 })
})

for (const [what, move] of [
  ['the machine was suspended', { steadyMs: 0, bootMs: 1_000, wallMs: 0 }],
  ['the wall clock went forward', { steadyMs: 0, bootMs: 0, wallMs: 1_000 }],
  ['the process stood still', { steadyMs: 1_000, bootMs: 0, wallMs: 0 }],
] as const) {
  test(`any clock that shows the validity over ends it, before a timer fires: ${what}`, async (t) => {
    const one = await bench(t)
    const tenure = heldOf(await checkOf(one, leading()))
    one.clock.move(move)
    assert.deepEqual([tenure.isValid(), tenure.validForMs], [false, 0])
  })

  test(`a question is late when any clock says so: ${what}`, async (t) => {
    const { respondent, clock, client } = await bench(t)
    const check = client.check()
    const asked = await respondent.next('plain')
    clock.move(move)
    asked.reply(leading())
    assert.equal(refusalOf(await check).reason, 'late')
  })
}

test('a wall clock that goes back lengthens nothing', async (t) => {
  const one = await bench(t)
  const tenure = heldOf(await checkOf(one, leading()))
  one.clock.stepWall(-60_000)
  assert.equal(tenure.validForMs, 1_000)
  one.clock.advance(1_000)
  assert.equal(tenure.isValid(), false)
})

test('a sidecar that does not lead is told with what it knows of the holder', async (t) => {
  const refusal = refusalOf(await checkOf(await bench(t), leadership()))
  assert.deepEqual(refusal, {
    leading: false,
    reason: 'not-leading',
    message: 'this instance is following (started); web-2 holds generation 7',
    current: { holder: 'web-2', generation: 7 },
  })
})

const MALFORMED: readonly (readonly [string, unknown])[] = [
  ['not JSON', '<html>leading</html>'],
  ['JSON of something else', { status: 'ok' }],
  ['null', 'null'],
  ['a list', []],
  ['larger than any answer', leading({ identity: 'x'.repeat(100_000) })],
  ['cut off', '{"leading":true'],
  ['leading that is no boolean', leading({ leading: 'true' })],
  ['no generation', leading({ generation: null })],
  ['generation 0', leading({ generation: 0 })],
  ['generation 2^53', leading({ generation: 2 ** 53 })],
  ['a generation as text', leading({ generation: '7' })],
  ['no session', leading({ session: null })],
  ['a session that would go into SQL as something else', leading({ session: `${SESSION}'; DROP TABLE x` })],
  ['a validity of null, as a hint has', leading({ validForMs: null })],
  ['a validity of 0', leading({ validForMs: 0 })],
  ['a validity with a fraction', leading({ validForMs: 0.5 })],
  ['a validity as text', leading({ validForMs: '1000' })],
]

for (const [what, body] of MALFORMED) {
  test(`an answer that cannot be read in full is not "leading": ${what}`, async (t) => {
    const refusal = refusalOf(await checkOf(await bench(t), body))
    assert.equal(refusal.reason, 'malformed')
    assert.match(refusal.message, /is not a Tenure sidecar: give the address/)
  })
}

test('an answer about another election than the one asked for is not "leading"', async (t) => {
  const one = await bench(t, { election: 'fleet' })
  const refusal = refusalOf(await checkOf(one, leading({ election: 'other' })))
  assert.equal(refusal.reason, 'malformed')
  assert.match(refusal.message, /"other".*"fleet"/)
})

test('the election is named in the question', async (t) => {
  const { respondent, client } = await bench(t, { election: 'fleet & co' })
  const check = client.check()
  const asked = await respondent.next('plain')
  assert.equal(asked.url.searchParams.get('election'), 'fleet & co')
  asked.reply(leading({ election: 'fleet & co' }))
  assert.equal(heldOf(await check).election, 'fleet & co')
})

for (const [status, reason] of [
  [400, 'refused'],
  [404, 'refused'],
  [500, 'fault'],
  [503, 'fault'],
] as const) {
  test(`an answer ${status} is ${reason}, and the message repeats the remedy of the sidecar`, async (t) => {
    const body = { ...leading(), error: { code: 'x', message: 'add ?election=NAME with one of them' } }
    const refusal = refusalOf(await checkOf(await bench(t), body, status))
    assert.equal(refusal.reason, reason)
    assert.equal(refusal.message, 'add ?election=NAME with one of them')
  })
}

test('a redirect is not followed', async (t) => {
  const one = await bench(t)
  const elsewhere = await bench(t)
  const location = `http://127.0.0.1:${elsewhere.respondent.port}/v1/leadership`
  const refusal = refusalOf(await checkOf(one, leading(), 307, { location }))
  assert.equal(refusal.reason, 'redirect')
  assert.equal(elsewhere.respondent.asked.length, 0)
})

test('a success other than 200 is no answer of a sidecar', async (t) => {
  assert.equal(refusalOf(await checkOf(await bench(t), leading(), 201)).reason, 'malformed')
})

test('no answer in time is "timeout", and the question is given up', async (t) => {
  const { respondent, clock, client } = await bench(t)
  const check = client.check()
  const asked = await respondent.next('plain')
  clock.advance(500)
  const refusal = refusalOf(await check)
  assert.equal(refusal.reason, 'timeout')
  assert.match(refusal.message, /no answer within 500 ms/)
  await until('the connection is closed', () => (asked.gone ? true : null))
  assert.equal(clock.timers, 0)
})

test('headers in time do not let the body take longer', async (t) => {
  const { respondent, clock, client } = await bench(t)
  const check = client.check()
  const asked = await respondent.next('plain')
  asked.begin('{"leading":')
  clock.advance(500)
  assert.equal(refusalOf(await check).reason, 'timeout')
})

test('a connection that breaks is "unreachable"', async (t) => {
  const { respondent, clock, client } = await bench(t)
  const check = client.check()
  const asked = await respondent.next('plain')
  asked.hangUp()
  assert.equal(refusalOf(await check).reason, 'unreachable')
  assert.equal(clock.timers, 0)
})

test('a refused connection is "unreachable", and the message names the remedy', async (t) => {
  const { respondent, client } = await bench(t)
  await respondent.stop()
  const refusal = refusalOf(await client.check())
  assert.equal(refusal.reason, 'unreachable')
  assert.match(refusal.message, /ECONNREFUSED.*tenure run/)
})

test('answers to two questions may come in any order: each is judged by its own send', async (t) => {
  const { respondent, clock, client } = await bench(t, { timeoutMs: 5_000 })
  const first = client.check()
  const older = await respondent.next('plain')
  clock.advance(600)
  const second = client.check()
  const newer = await respondent.next('plain')
  newer.reply(leading({ generation: 9, session: OTHER_SESSION }))
  const held = heldOf(await second)
  assert.equal(held.validForMs, 1_000)
  older.reply(leading())
  assert.equal(heldOf(await first).validForMs, 400)
  assert.equal(held.validForMs, 1_000)
})

test('assertLeading gives the tenure, and is the one call that throws, with the check', async (t) => {
  const { respondent, client } = await bench(t)
  const first = client.assertLeading()
  const asked = await respondent.next('plain')
  asked.reply(leading())
  assert.equal((await first).generation, 7)
  await respondent.stop()
  await assert.rejects(client.assertLeading(), (error) => {
    assert.ok(error instanceof NotLeadingError)
    assert.equal(error.check.reason, 'unreachable')
    return true
  })
})

test('without a clock of its own a client reads those of the machine', async (t) => {
  const { respondent } = await bench(t)
  const client = new TenureClient({ url: `http://127.0.0.1:${respondent.port}`, timeoutMs: 60_000 })
  const check = client.check()
  const asked = await respondent.next('plain')
  asked.reply(leading({ validForMs: 60_000 }))
  const { validForMs } = heldOf(await check)
  assert.ok(
    validForMs > 0 && validForMs <= PROMISE_MOST_MS,
    `${validForMs}: no more than any sidecar promises`,
  )
})
