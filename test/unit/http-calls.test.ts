import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { isLoopbackHost, isLoopbackPeer } from '../../src/http/guards.ts'
import { ask, FakeElection, LEADING, startRig } from './http-fixtures.ts'

const MEANT = { 'Tenure-Request': '1', 'Content-Type': 'application/json' }

function call(body: unknown, headers: Record<string, string> = MEANT) {
  return { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

test('a resignation hands the hold-off on, in milliseconds', async (t) => {
  const { ask, election } = await startRig(t)
  election.resigned = { accepted: true, generation: 7 }
  const { status, json } = await ask('/v1/resign', call({ holdOff: '10s' }))
  assert.equal(status, 200)
  assert.deepEqual(json, { election: 'fleet-manager', generation: 7 })
  assert.deepEqual(election.holdOffs, [10_000])
})

test('a resignation without a body takes the default hold-off', async (t) => {
  const { ask, election } = await startRig(t)
  const { status } = await ask('/v1/resign', { method: 'POST', headers: { 'Tenure-Request': '1' } })
  assert.equal(status, 200)
  assert.deepEqual(election.holdOffs, [null])
})

test('who does not lead holds off all the same, and is told that no tenure ended', async (t) => {
  const { ask, election } = await startRig(t)
  const { status, json } = await ask('/v1/resign', call({ holdOff: '1m' }))
  assert.deepEqual([status, json.generation], [200, null])
  assert.deepEqual(election.holdOffs, [60_000])
})

test('a resignation that the election refuses is a conflict, in its words', async (t) => {
  const { ask, election } = await startRig(t)
  election.resigned = { accepted: false, message: 'an observer never stands' }
  const { status, json } = await ask('/v1/resign', call({}))
  assert.deepEqual([status, json.error.message], [409, 'an observer never stands'])
})

test('"drained" is taken for the generation held, and for no other', async (t) => {
  const { ask, election } = await startRig(t)
  const none = await ask('/v1/drained', call({ generation: 7 }))
  assert.deepEqual([none.status, none.json.current], [409, null])
  election.now = LEADING
  const right = await ask('/v1/drained', call({ generation: 7 }))
  assert.deepEqual([right.status, right.json], [200, { election: 'fleet-manager', generation: 7 }])
  const stale = await ask('/v1/drained', call({ generation: 6 }))
  assert.deepEqual([stale.status, stale.json.current, stale.json.error.code], [409, 7, 'stale_generation'])
})

test('a call without the header is refused, and told what to send', async (t) => {
  const { ask, election } = await startRig(t)
  const { status, json } = await ask('/v1/resign', call({}, { 'Content-Type': 'application/json' }))
  assert.equal(status, 403)
  assert.match(json.error.message, /send "Tenure-Request: 1"/)
  assert.deepEqual(election.holdOffs, [])
})

test('a call that names another host is refused', async (t) => {
  const { ask, election } = await startRig(t)
  for (const host of ['example.com', '127.0.0.1.example.com', 'localhost.example.com:4040', '10.0.0.7']) {
    const { status, json } = await ask('/v1/resign', call({}, { ...MEANT, Host: host }))
    assert.equal(status, 403, host)
    assert.equal(json.error.code, 'foreign_host')
  }
  for (const host of ['localhost', 'LOCALHOST:4040', '127.0.0.1:1', '127.8.8.8', '[::1]:4040']) {
    assert.equal((await ask('/v1/resign', call({}, { ...MEANT, Host: host }))).status, 200, host)
  }
  assert.equal(election.holdOffs.length, 5)
})

test('a target that names a host of its own is refused', async (t) => {
  const { ask, election } = await startRig(t)
  const { status, json } = await ask('http://example.com/v1/resign', call({}))
  assert.deepEqual([status, json.error.code], [400, 'bad_target'])
  assert.deepEqual(election.holdOffs, [])
})

test('a peer is local only as a loopback address, also in its IPv6 form', () => {
  for (const peer of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
    assert.ok(isLoopbackPeer(peer), peer)
  for (const peer of ['10.0.0.1', '::ffff:10.0.0.1', '1270.0.0.1', 'fe80::1', '', undefined]) {
    assert.ok(!isLoopbackPeer(peer), peer)
  }
  assert.ok(!isLoopbackHost(undefined))
})

test('a call from another address than the loopback is refused', async (t) => {
  const outer = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find((address) => !address.internal && address.family === 'IPv4')
  if (outer === undefined) {
    t.skip('SKIPPED: this machine has no address beside the loopback, so that nobody else can call')
    return
  }
  const { port, election } = await startRig(t, { listenHost: '0.0.0.0' })
  const headers = { ...MEANT, Host: 'localhost' }
  const { status, json } = await ask(port, '/v1/resign', { ...call({}, headers), host: outer.address })
  assert.deepEqual([status, json.error.code], [403, 'not_local'])
  assert.deepEqual(election.holdOffs, [])
  assert.equal((await ask(port, '/v1/leadership', { host: outer.address })).status, 200)
})

test('a body must be declared as JSON, and be JSON', async (t) => {
  const { ask, election } = await startRig(t)
  const form = { 'Tenure-Request': '1', 'Content-Type': 'application/x-www-form-urlencoded' }
  assert.equal((await ask('/v1/resign', call('holdOff=1s', form))).status, 415)
  assert.equal((await ask('/v1/resign', call('{}', { 'Tenure-Request': '1' }))).status, 415)
  assert.equal((await ask('/v1/resign', call('{}', { ...MEANT, 'Content-Encoding': 'gzip' }))).status, 415)
  const broken = await ask('/v1/resign', call('{"holdOff":'))
  assert.deepEqual([broken.status, broken.json.error.code], [400, 'not_json'])
  assert.equal((await ask('/v1/resign', call('"10s"'))).status, 400)
  assert.equal((await ask('/v1/resign', call('[]'))).status, 400)
  assert.deepEqual(election.holdOffs, [])
})

test('a body above 4 kB is refused', async (t) => {
  const { ask } = await startRig(t)
  const { status, json } = await ask('/v1/resign', call({ holdOff: 'x'.repeat(5_000) }))
  assert.deepEqual([status, json.error.code], [413, 'body_too_large'])
})

test('a body with a key or a value that the call does not take is refused by name', async (t) => {
  const { ask, election } = await startRig(t)
  const extra = await ask('/v1/resign', call({ holdoff: '10s' }))
  assert.equal(extra.status, 400)
  assert.match(extra.json.error.message, /"holdoff".*this call takes holdOff/)
  const bare = await ask('/v1/resign', call({ holdOff: '10' }))
  assert.equal(bare.status, 400)
  assert.match(bare.json.error.message, /holdOff "10".*10s/)
  for (const generation of [0, -1, 1.5, '7', null, 2 ** 53, undefined]) {
    const { status, json } = await ask('/v1/drained', call({ generation }))
    assert.equal(status, 400, String(generation))
    assert.match(json.error.message, /generation/)
  }
  assert.equal((await ask('/v1/drained', { method: 'POST', headers: MEANT })).status, 400)
  assert.deepEqual(election.holdOffs, [])
})

test('with several elections a call must name one, and reaches that one alone', async (t) => {
  const elections = [new FakeElection('blue'), new FakeElection('green')] as const
  const { ask } = await startRig(t, { elections })
  assert.equal((await ask('/v1/resign', call({}))).status, 400)
  assert.equal((await ask('/v1/resign?election=red', call({}))).status, 404)
  assert.equal((await ask('/v1/resign?election=green', call({}))).json.election, 'green')
  assert.deepEqual([elections[0].holdOffs.length, elections[1].holdOffs.length], [0, 1])
})
