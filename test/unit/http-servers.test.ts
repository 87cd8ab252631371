import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { listen } from '../../src/http/listener.ts'
import { createServers } from '../../src/http/servers.ts'
import { ManualClock } from '../support/clock.ts'
import { eventually, FakeElection, FakeSidecar, FOLLOWING, LEADING, startRig } from './http-fixtures.ts'

test('a method that a path does not take is refused with those that it takes', async (t) => {
  const { ask } = await startRig(t)
  const cases = [
    ['/leader', 'POST', 'GET, HEAD, OPTIONS'],
    ['/v1/leadership', 'PUT', 'GET, HEAD'],
    ['/v1/leadership', 'OPTIONS', 'GET, HEAD'],
    ['/v1/events', 'DELETE', 'GET, HEAD'],
    ['/v1/history', 'POST', 'GET, HEAD'],
    ['/v1/resign', 'GET', 'POST'],
    ['/v1/resign', 'OPTIONS', 'POST'],
    ['/v1/drained', 'HEAD', 'POST'],
    ['/', 'POST', 'GET, HEAD'],
    ['/openapi.json', 'POST', 'GET, HEAD'],
    ['/livez', 'POST', 'GET, HEAD'],
    ['/metrics', 'DELETE', 'GET, HEAD'],
  ] as const
  for (const [path, method, allow] of cases) {
    const { status, headers } = await ask(path, { method })
    assert.deepEqual([status, headers.allow], [405, allow], `${method} ${path}`)
    assert.equal(headers['cache-control'], 'no-store')
  }
})

test('an unknown path is a 404 that names those served', async (t) => {
  const { ask } = await startRig(t)
  for (const path of ['/v1', '/Leader', '/leader/', '/v1/leadership/x', '/healthz', '/%zz']) {
    const { status, headers, json } = await ask(path)
    assert.equal(status, 404, path)
    assert.equal(json.error.code, 'unknown_path')
    assert.match(json.error.message, /\/v1\/leadership, \/leader/)
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['x-powered-by'], undefined)
    assert.equal(headers.etag, undefined)
  }
})

test('probes answer what the sidecar says of itself', async (t) => {
  const { ask, sidecar } = await startRig(t)
  assert.deepEqual([(await ask('/livez')).status, (await ask('/readyz?verbose')).status], [200, 200])
  sidecar.liveness = { ok: false, message: 'no turn for 40 s' }
  sidecar.readiness = { ok: false, checks: [{ name: 'store', ok: false, message: 'has not answered yet' }] }
  const live = await ask('/livez')
  assert.deepEqual([live.status, live.json], [503, { ok: false, message: 'no turn for 40 s' }])
  const ready = await ask('/readyz')
  assert.deepEqual([ready.status, ready.json.checks[0].name], [503, 'store'])
})

test('a probe that cannot be computed is a 500', async (t) => {
  const { ask, sidecar } = await startRig(t)
  sidecar.live = () => {
    throw new Error('no clock')
  }
  assert.equal((await ask('/livez')).status, 500)
})

test('metrics come with the type that the registry gives; a scrape that fails is a 500', async (t) => {
  const registry = { contentType: 'text/plain; version=0.0.4; charset=utf-8', metrics: async () => 'up 1\n' }
  const { ask } = await startRig(t, { registry })
  const { status, headers, text } = await ask('/metrics')
  assert.deepEqual([status, text, headers['content-type']], [200, 'up 1\n', registry.contentType])
  registry.metrics = async () => {
    throw new Error('no status')
  }
  assert.equal((await ask('/metrics')).status, 500)
})

test('with an operations listener, probes and metrics are served there and nothing else is', async (t) => {
  const { ask, askOps, election } = await startRig(t, { ops: true })
  for (const path of ['/livez', '/readyz', '/metrics']) {
    assert.equal((await askOps(path)).status, 200, path)
    assert.equal((await ask(path)).status, 404, path)
  }
  const headers = { 'Tenure-Request': '1' }
  for (const path of ['/v1/leadership', '/leader', '/v1/events', '/v1/history', '/', '/openapi.json']) {
    assert.equal((await askOps(path)).status, 404, path)
  }
  for (const path of ['/v1/resign', '/v1/drained']) {
    assert.equal((await askOps(path, { method: 'POST', headers })).status, 404, path)
  }
  assert.equal((await askOps('/livez', { method: 'POST', headers })).status, 405)
  assert.deepEqual(election.holdOffs, [])
})

test('history tells the tenures with their times and reasons', async (t) => {
  const { ask, election } = await startRig(t)
  const fromMs = Date.UTC(2026, 0, 1)
  election.records = [
    { holder: 'pod-b', generation: 6, fromMs, untilMs: fromMs + 5_000, reason: 'seen', leaderlessMs: null },
    {
      holder: 'pod-a',
      generation: 7,
      fromMs: fromMs + 5_200,
      untilMs: null,
      reason: null,
      leaderlessMs: 200,
    },
  ]
  const { status, json } = await ask('/v1/history')
  assert.deepEqual([status, json.source, json.error], [200, 'store', null])
  assert.deepEqual(json.tenures[0], {
    holder: 'pod-b',
    generation: 6,
    from: '2026-01-01T00:00:00.000Z',
    until: '2026-01-01T00:00:05.000Z',
    reason: 'seen',
    leaderlessMs: null,
  })
  assert.deepEqual(
    [json.tenures[1].until, json.tenures[1].reason, json.tenures[1].leaderlessMs],
    [null, null, 200],
  )
})

test('history from memory says why the store was not asked', async (t) => {
  const { ask, election } = await startRig(t)
  election.historyFault = { kind: 'denied', message: 'no right' }
  const { status, json } = await ask('/v1/history')
  assert.deepEqual([status, json.source, json.error], [200, 'memory', election.historyFault])
})

test('the name at / is the holder of a lease that has not run out', async (t) => {
  const { ask, election } = await startRig(t)
  assert.deepEqual((await ask('/')).json, { name: 'pod-b' })
  const expired = { holder: 'pod-b', generation: 6, expiresInMs: 0, observedAgeMs: 9_000 }
  election.now = { ...FOLLOWING, current: expired }
  assert.deepEqual((await ask('/')).json, { name: '' })
  election.now = { ...FOLLOWING, current: null }
  assert.deepEqual((await ask('/')).json, { name: '' })
})

test('the name at / is our own only with a promise: its readers act on it', async (t) => {
  const { ask, election } = await startRig(t)
  election.now = LEADING
  assert.deepEqual((await ask('/')).json, { name: 'pod-a' })
  assert.equal(election.promises, 1)
  election.now = { ...FOLLOWING, state: 'draining', current: LEADING.current }
  assert.deepEqual((await ask('/')).json, { name: '' })
})

test('a port that is taken is an error that names the address and the remedy', async (t) => {
  const { port } = await startRig(t)
  const address = { host: '127.0.0.1', port }
  const free = { host: '127.0.0.1', port: 0 }
  const parts = {
    sidecar: new FakeSidecar([new FakeElection()]),
    registry: { contentType: 'text/plain', metrics: async () => '' },
    clock: new ManualClock(),
    log: { error: () => undefined },
    version: '0.0.0',
  }
  const api = createServers({ ...parts, listen: address, opsListen: null })
  await assert.rejects(api.start(), {
    name: 'ListenError',
    message: `--listen 127.0.0.1:${port}: cannot listen (EADDRINUSE); another process listens there: stop it, or choose another port with --listen`,
  })
  const ops = createServers({ ...parts, listen: free, opsListen: address })
  await assert.rejects(ops.start(), { name: 'ListenError', message: /^--ops-listen / })
})

test('a second stop is the first one', async (t) => {
  const { servers } = await startRig(t)
  assert.equal(servers.stop(), servers.stop())
  await servers.stop()
})

test('a connection that cannot be taken is logged, and the server goes on', async (t) => {
  const faults: string[] = []
  const log = { error: (_fields: object, message: string) => faults.push(message) }
  const server = await listen(() => undefined, { host: '127.0.0.1', port: 0 }, '--listen', log)
  t.after(() => server.close())
  for (let i = 0; i < 2; i++) server.emit('error', new Error('accept EMFILE'))
  assert.deepEqual(faults, Array(2).fill('--listen: a connection could not be taken'))
})

test('one connection carries many questions', async (t) => {
  const { port } = await startRig(t)
  const socket = connect(port, '127.0.0.1')
  let text = ''
  const both = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      text += chunk
      if (text.split('HTTP/1.1 ').length === 3) resolve()
    })
  })
  socket.write('GET /leader HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/leadership HTTP/1.1\r\nHost: x\r\n\r\n')
  await both
  socket.destroy()
  assert.match(text, /^HTTP\/1\.1 503[\s\S]*HTTP\/1\.1 200/)
})

/** What came on a connection that sent `bytes`, until it was closed. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(text))
  })
}

test('a connection on which a flood of requests waits is dropped, and delays nobody', async (t) => {
  const { port, ask } = await startRig(t)
  for (const path of ['/openapi.json', '/metrics', '/leader']) {
    await ask(path)
    const flood = exchange(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(1_700))
    const answers = (await flood).split('HTTP/1.1 ').length - 1
    assert.ok(answers <= 16, `${path}: ${answers} answers`)
    assert.ok((await ask('/leader')).status > 0)
  }
})

test('what is no HTTP is answered in JSON, and not to be stored', async (t) => {
  const { port } = await startRig(t)
  for (const [bytes, status] of [
    ['nonsense\r\n\r\n', '400'],
    [`GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, '431'],
  ] as const) {
    const text = await exchange(port, bytes)
    assert.match(text, new RegExp(`^HTTP/1.1 ${status} `))
    assert.match(text, /Cache-Control: no-store/)
    assert.match(text, /"code":"bad_request"/)
  }
})

test('a body that is said to be too large is refused before it is sent', async (t) => {
  const { port } = await startRig(t)
  const head =
    'POST /v1/drained HTTP/1.1\r\nHost: localhost\r\nTenure-Request: 1\r\nContent-Type: application/json\r\n'
  const text = await exchange(port, `${head}Content-Length: 2000000000\r\n\r\n{`)
  assert.match(text, /^HTTP\/1.1 413 /)
  assert.match(text, /body_too_large/)
})

test('scrapes that come together share one rendering, and the next one has its own', async (t) => {
  let renderings = 0
  const held = Promise.withResolvers<void>()
  const metrics = async (): Promise<string> => {
    renderings++
    await held.promise
    return 'up 1\n'
  }
  const { port, ask } = await startRig(t, { registry: { contentType: 'text/plain', metrics } })
  const scrape = 'GET /metrics HTTP/1.1\r\nHost: a\r\n'
  const together = exchange(port, `${scrape}\r\n${scrape}Connection: close\r\n\r\n`)
  await eventually('a rendering began', () => renderings > 0)
  held.resolve()
  assert.equal((await together).split('up 1').length - 1, 2)
  assert.equal(renderings, 1)
  await ask('/metrics')
  assert.equal(renderings, 2)
})
