import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { tenure } from '../support/command.ts'
import { type Answer, type Asked, leadership, leads, StandIn } from '../support/stand-in.ts'

async function standIn(t: TestContext, answer: (asked: Asked) => Answer) {
  const server = new StandIn(answer)
  t.after(() => server.stop())
  const listen = await server.start()
  return { server, listen }
}

const storeError = (kind: string) => ({
  kind: 'postgres',
  location: 'h/db',
  lastSuccessAgoMs: null,
  error: { kind, message: 'connection refused' },
})

test('status tells who leads and for how long yet, and exits with 3 for a follower', async (t) => {
  const { server, listen } = await standIn(t, () => ({ body: leadership() }))
  const { code, stdout } = await tenure(['status', '--listen', listen])
  assert.equal(code, 3)
  assert.match(
    stdout,
    /^leader +web-2, under generation 7; the lease lasts 9\.8 s more unless it is renewed/m,
  )
  assert.match(stdout, /^this instance +web-1: following for .* \(started\)$/m)
  assert.equal(server.asked[0]?.url.searchParams.get('election'), null)
})

test('looking promises nothing: status asks in the form of a long poll that does not wait', async (t) => {
  const { server, listen } = await standIn(t, () => ({ body: leadership() }))
  await tenure(['status', '--listen', listen])
  assert.deepEqual(
    server.asked.map(({ url }) => url.search),
    ['?after=none&wait=0'],
  )
})

test('status exits with 0 on the leader, and --json prints the answer', async (t) => {
  const { server, listen } = await standIn(t, () => ({ body: leads() }))
  const { code, stdout } = await tenure(['status', '--json', '--election', 'a b'], { TENURE_LISTEN: listen })
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(stdout), leads())
  assert.equal(server.asked[0]?.url.searchParams.get('election'), 'a b')
})

test('with nobody known to lead, status exits by what is wrong with the store', async (t) => {
  const codes = { unavailable: 4, denied: 4, schema: 5, misconfigured: 2 }
  let body = leadership()
  const { listen } = await standIn(t, () => ({ body }))
  for (const [kind, expected] of Object.entries(codes)) {
    body = leadership({ current: null, store: storeError(kind) })
    const { code, stdout } = await tenure(['status', '--listen', listen])
    assert.equal(code, expected, kind)
    assert.match(stdout, /^store error +\w+: connection refused$/m)
  }
  body = leadership({ store: storeError('unavailable') })
  assert.equal((await tenure(['status', '--listen', listen])).code, 3)
})

test('labels from elsewhere do not reach the terminal raw', async (t) => {
  const { listen } = await standIn(t, () => ({ body: leadership({ identity: 'a\u001b[2Jb' }) }))
  const { stdout } = await tenure(['status', '--listen', listen])
  assert.match(stdout, /a\\u001b\[2Jb/)
})

test('what the sidecar refuses is told in its own words', async (t) => {
  const body = { error: { code: 'election_required', message: 'add ?election=NAME with one of a, b' } }
  const { listen } = await standIn(t, () => ({ status: 400, body }))
  const { code, stderr } = await tenure(['status', '--listen', listen])
  assert.equal(code, 2)
  assert.match(stderr, /^tenure: add --election NAME/)
})

test('something else on the port is not taken for a sidecar', async (t) => {
  const { listen } = await standIn(t, () => ({ body: '<html>hello</html>' }))
  for (const argv of [['status'], ['history'], ['resign']]) {
    const { code, stderr } = await tenure([...argv, '--listen', listen])
    assert.equal(code, 1)
    assert.match(stderr, /is not a Tenure sidecar/)
  }
})

test('wait --leader follows the long polls, and trusts only the plain question', async (t) => {
  // A hint that says "leading" too early, then a plain answer that denies it, then the truth.
  let hints = 0
  let questions = 0
  const { server, listen } = await standIn(t, ({ url }) => {
    const isHint = url.searchParams.has('after')
    if (isHint) return { body: ++hints < 2 ? leadership({ revision: 'r2' }) : { ...leads(), revision: 'r3' } }
    return { body: ++questions < 2 ? leadership() : leads() }
  })
  const { code } = await tenure(['wait', '--leader', '--timeout', '15s', '--listen', listen])
  assert.equal(code, 0)
  assert.equal(questions, 2)
  const after = server.asked.map(({ url }) => url.searchParams.get('after')).filter((one) => one !== null)
  assert.deepEqual(after.slice(0, 3), ['none', 'r2', 'r3'])
})

test('wait exits with 124 when the time is up, and says what stood in the way', async (t) => {
  const { listen } = await standIn(t, () => ({ body: leadership() }))
  const { code, stderr } = await tenure(['wait', '--leader', '--timeout', '400ms', '--listen', listen])
  assert.equal(code, 124)
  assert.match(stderr, /the time is up: this instance is following \(started\)/)
  const none = await tenure(['wait', '--ready', '--timeout', '0', '--listen', '127.0.0.1:1'])
  assert.equal(none.code, 124)
  assert.match(none.stderr, /no sidecar answers/)
})

test('wait --ready waits for 200 from /readyz, on the listener for probes where there is one', async (t) => {
  let asks = 0
  const { listen } = await standIn(t, ({ url }) => {
    assert.equal(url.pathname, '/readyz')
    return { status: ++asks < 3 ? 503 : 200, body: { ok: asks >= 3 } }
  })
  const argv = ['wait', '--ready', '--timeout', '15s', '--listen', '127.0.0.1:1', '--ops-listen', listen]
  assert.equal((await tenure(argv)).code, 0)
  assert.equal(asks, 3)
})

test('a sidecar that accepts and never answers does not hold wait beyond its time', async (t) => {
  const { listen } = await standIn(t, () => 'never')
  const { code, stderr } = await tenure(['wait', '--ready', '--timeout', '500ms', '--listen', listen])
  assert.equal(code, 124)
  assert.match(stderr, /no answer within/)
})

test('history lists the tenures, and resign posts with the header that shows it was meant', async (t) => {
  const tenures = [
    { holder: 'web-2', generation: 7, from: 'F', until: 'U', reason: 'lost', leaderlessMs: 1_500 },
    { holder: 'web-1', generation: 8, from: 'U', until: null, reason: null, leaderlessMs: null },
  ]
  const { server, listen } = await standIn(t, ({ method }) =>
    method === 'POST'
      ? { body: { election: 'default', generation: 8 } }
      : { body: { election: 'default', tenures } },
  )
  const history = await tenure(['history', '--listen', listen])
  assert.equal(history.code, 0)
  assert.match(history.stdout, /^7 +web-2 +F +U +lost +1\.5 s$/m)
  assert.match(history.stdout, /^8 +web-1 +U +now +unknown$/m)
  assert.equal(history.stderr, '')
  const resign = await tenure(['resign', '--hold-off', '1.5m', '--listen', listen])
  assert.equal(resign.code, 0)
  assert.match(resign.stdout, /generation 8/)
  const post = server.asked.at(-1)
  assert.equal(post?.url.pathname, '/v1/resign')
  assert.equal(post?.header, '1')
  assert.equal(post?.body, '{"holdOff":"90000ms"}')
})

test('history says what nobody knows, and that it is not the store that was read', async (t) => {
  const tenures = [
    { holder: null, generation: 7, from: 'F', until: null, reason: 'unknown', leaderlessMs: null },
  ]
  const error = { kind: 'denied', message: 'run GRANT \u001b[2J' }
  const { listen } = await standIn(t, () => ({
    body: { election: 'default', source: 'memory', error, tenures },
  }))
  const { code, stdout, stderr } = await tenure(['history', '--listen', listen])
  assert.equal(code, 0)
  assert.match(stdout, /^7 +unknown +F +unknown +unknown +unknown$/m)
  assert.match(stderr, /^only what this sidecar saw since it started: .*run GRANT \\u001b\[2J$/m)
})

test('a resignation that is refused ends with 3', async (t) => {
  const body = { error: { code: 'not_resigned', message: 'an observer holds nothing' } }
  const { listen } = await standIn(t, () => ({ status: 409, body }))
  const { code, stderr } = await tenure(['resign', '--listen', listen])
  assert.equal(code, 3)
  assert.match(stderr, /an observer holds nothing/)
})

test('wait outlasts a sidecar that cannot answer now, and gives up on what is no sidecar', async (t) => {
  let asks = 0
  const busy = { status: 503, body: { error: { code: 'full', message: 'too many wait already' } } }
  const { server, listen } = await standIn(t, () => (++asks < 3 ? busy : { body: leads() }))
  const argv = ['wait', '--leader', '--timeout', '15s', '--listen', listen]
  assert.equal((await tenure(argv)).code, 0)
  server.answer = () => ({ body: 'hello' })
  assert.equal((await tenure(argv)).code, 1)
})

test('wait outlasts a sidecar that does not answer yet', async (t) => {
  let asks = 0
  const { listen } = await standIn(t, () => (++asks < 3 ? 'hang up' : { body: {} }))
  const { code } = await tenure(['wait', '--ready', '--timeout', '15s', '--listen', listen])
  assert.equal(code, 0)
  assert.equal(asks, 3)
})
