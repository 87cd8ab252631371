import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Answer, REASONS, STATES } from '../../src/election/status.ts'
import { layAnswer, leadershipHint } from '../../src/http/leadership.ts'
import { FakeElection, FOLLOWING, LEADING, SESSION, startRig } from './http-fixtures.ts'

test('a follower answers 200 with no generation, no session and no validity', async (t) => {
  const { ask } = await startRig(t)
  const { status, headers, json } = await ask('/v1/leadership')
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(json, {
    election: 'fleet-manager',
    identity: 'pod-a',
    leading: false,
    generation: null,
    session: null,
    validForMs: 0,
    state: 'following',
    reason: 'started',
    since: '2026-01-01T00:00:00.000Z',
    revision: 'aaaa-0',
    current: { holder: 'pod-b', generation: 6, expiresInMs: 4_000, observedAgeMs: 12 },
    draining: null,
    store: { kind: 'sqlite', location: 'lease.db', lastSuccessAgoMs: 12, error: null },
  })
})

test('a leader answers with its generation, its session and whole milliseconds of validity', async (t) => {
  const { ask, election } = await startRig(t)
  election.now = { ...LEADING, actForMs: 321.9 }
  const { json } = await ask('/v1/leadership')
  assert.equal(json.leading, true)
  assert.equal(json.generation, 7)
  assert.equal(json.session, SESSION)
  assert.equal(json.validForMs, 321, 'a validity is rounded down, never up')
})

test('every answer that says "leading" promises, whatever the method', async (t) => {
  const { ask, election } = await startRig(t)
  election.now = LEADING
  await ask('/v1/leadership')
  await ask('/leader')
  await ask('/leader', { method: 'HEAD' })
  await ask('/leader', { method: 'OPTIONS' })
  assert.equal(election.promises, 4)
})

test('/leader is 200 for the leader and 503 for everybody else, with the same body as /v1/leadership', async (t) => {
  const { ask, election } = await startRig(t)
  const following = await ask('/leader')
  assert.equal(following.status, 503)
  assert.deepEqual(following.json, (await ask('/v1/leadership')).json)
  election.now = LEADING
  const leading = await ask('/leader')
  assert.equal(leading.status, 200)
  assert.deepEqual(leading.json, (await ask('/v1/leadership')).json)
})

test('HEAD and OPTIONS of /leader give the code without a body', async (t) => {
  const { ask, election } = await startRig(t)
  for (const method of ['HEAD', 'OPTIONS']) {
    election.now = FOLLOWING
    assert.deepEqual(codeAndText(await ask('/leader', { method })), [503, ''])
    election.now = LEADING
    const reply = await ask('/leader', { method })
    assert.deepEqual(codeAndText(reply), [200, ''])
    assert.equal(reply.headers['cache-control'], 'no-store')
  }
  assert.equal((await ask('/leader', { method: 'OPTIONS' })).headers.allow, 'GET, HEAD, OPTIONS')
})

function codeAndText({ status, text }: { status: number; text: string }): [number, string] {
  return [status, text]
}

test('a validity that would be 0 ms is answered as not leading', async (t) => {
  const { ask, election } = await startRig(t)
  election.now = { ...LEADING, actForMs: 0.7 }
  const { status, json } = await ask('/leader')
  assert.equal(status, 503)
  assert.deepEqual([json.leading, json.generation, json.session, json.validForMs], [false, null, null, 0])
})

test('a draining instance does not lead, and tells how long its work may still go on', async (t) => {
  const { ask, election } = await startRig(t)
  const draining = { generation: 7, leaseRemainingMs: 812.4 }
  election.now = { ...FOLLOWING, state: 'draining', reason: 'shutdown', draining }
  const { status, json } = await ask('/leader')
  assert.equal(status, 503)
  assert.deepEqual(json.draining, { generation: 7, leaseRemainingMs: 812 })
  assert.equal(json.generation, null)
})

test('a status that cannot be computed is a 500 that says not to act, and is logged', async (t) => {
  const { ask, election, faults } = await startRig(t)
  election.fault = new Error('the boot clock is gone')
  for (const path of ['/leader', '/v1/leadership', '/v1/leadership?after=x', '/v1/events', '/']) {
    const { status, json, text } = await ask(path)
    assert.equal(status, 500, path)
    assert.equal(json.error.code, 'fault')
    assert.match(json.error.message, /boot clock is gone.*not leading/)
    assert.doesNotMatch(text, /"leading":true/)
  }
  assert.equal(faults.length, 5)
})

test('with several elections the question must name one', async (t) => {
  const elections = [new FakeElection('blue', LEADING), new FakeElection('green/1')]
  const { ask } = await startRig(t, { elections })
  for (const path of ['/v1/leadership', '/leader', '/v1/events', '/v1/history', '/']) {
    const missing = await ask(path)
    assert.equal(missing.status, 400, path)
    assert.match(missing.json.error.message, /blue, green\/1.*\?election=NAME/)
    const unknown = await ask(`${path}?election=red`)
    assert.equal(unknown.status, 404, path)
    assert.match(unknown.json.error.message, /"red".*blue, green\/1/)
  }
  assert.equal((await ask('/leader?election=blue')).status, 200)
  assert.equal((await ask('/leader?election=green/1')).status, 503)
  assert.equal((await ask('/v1/leadership?election=green%2F1')).json.election, 'green/1')
})

test('a parameter that is unknown or given twice is refused by name', async (t) => {
  const { ask } = await startRig(t)
  const unknown = await ask('/v1/leadership?aftr=aaaa-0')
  assert.equal(unknown.status, 400)
  assert.match(unknown.json.error.message, /"aftr".*election, after, wait/)
  const twice = await ask('/leader?election=a&election=b')
  assert.equal(twice.status, 400)
  assert.match(twice.json.error.message, /election is given twice/)
})

const text = fc.string({ unit: 'grapheme' })
const ms = fc.double({ min: -1, max: 1e9, noNaN: true })
const generation = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const answers: fc.Arbitrary<Answer> = fc.record({
  election: text,
  identity: text,
  leading: fc.boolean(),
  generation: fc.option(generation),
  session: fc.option(fc.uuid()),
  actForMs: ms,
  validForMs: ms,
  state: fc.constantFrom(...STATES),
  reason: fc.constantFrom(...REASONS),
  sinceMs: fc.integer({ min: 0, max: 2 ** 42 }),
  revision: text,
  current: fc.option(
    fc.record({ holder: fc.option(text), generation, expiresInMs: fc.option(ms), observedAgeMs: ms }),
  ),
  draining: fc.option(fc.record({ generation, leaseRemainingMs: ms })),
  store: fc.record({
    kind: text,
    location: text,
    lastSuccessAgoMs: fc.option(ms),
    error: fc.option(fc.record({ kind: fc.constant('denied' as const), message: text })),
  }),
})

test('the body laid out by hand is the same as the one made from an object', () => {
  fc.assert(
    fc.property(answers, (answer) => {
      const laid = layAnswer(answer)
      const parsed = JSON.parse(laid.text)
      const hint = leadershipHint({ ...answer, actForMs: answer.validForMs })
      const { validForMs, ...rest } = parsed
      assert.deepEqual(rest, JSON.parse(JSON.stringify(hint)))
      assert.equal(laid.leading, parsed.leading)
      assert.equal(validForMs > 0, parsed.leading)
      assert.ok(validForMs <= Math.max(answer.validForMs, 0))
      if (!parsed.leading) assert.deepEqual([parsed.generation, parsed.session], [null, null])
    }),
  )
})

test('a tenure that is not told in full, or a validity that is no number, is never "leading"', () => {
  const answer = { ...LEADING, validForMs: 500 }
  const doubtful: Answer[] = [
    { ...answer, generation: null },
    { ...answer, session: null },
    { ...answer, validForMs: Number.NaN },
    { ...answer, validForMs: -3 },
    { ...answer, generation: 2 ** 53 },
  ]
  for (const one of doubtful) {
    const parsed = JSON.parse(layAnswer(one).text)
    assert.deepEqual([parsed.leading, parsed.generation, parsed.validForMs], [false, null, 0])
  }
})
