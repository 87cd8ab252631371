import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WAITS_MOST } from '../../src/claims/limits.ts'
import { MEANT, STANDS, startClaimRig } from './http-claims-fixtures.ts'
import { startRig, stopAll } from './http-fixtures.ts'

test('more waits than there is room for are refused, and told to come back', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  const waits = Array.from({ length: WAITS_MOST }, (_, i) =>
    rig.acquire(`r${i}`, [`/srv/${i}`], { wait: '30s' }),
  )
  await rig.waits(WAITS_MOST)
  const late = await rig.acquire('late', ['/srv/late'], { wait: '30s' })
  assert.deepEqual(
    [late.status, late.json.error.code, late.headers['retry-after']],
    [503, 'too_many_waits', '1'],
  )
  await rig.call('/v1/claims/release', { token })
  for (const reply of await Promise.all(waits)) assert.equal(reply.status, 200)
  const full = await rig.acquire('late', ['/more'])
  assert.deepEqual([full.status, full.json.error.code], [503, 'too_many_claims'])
})

test('a stop of the sidecar ends every wait, and closes its connection', async (t) => {
  const rig = await startClaimRig(t)
  await rig.acquire('writer', ['/srv'])
  const body = { holder: 'reader', paths: ['/srv'], wait: '30s' }
  const waiting = rig.call('/v1/claims/acquire', body, { ...MEANT, Connection: 'keep-alive' })
  await rig.waits(1)
  const stopped = rig.servers.stop()
  const { status, json, headers } = await waiting
  await stopAll(rig.servers, rig.clock)
  await stopped
  assert.deepEqual([status, json.error.code, headers.connection], [503, 'stopping', 'close'])
})

test('a book that stands on a tenure is void without it, in each operation, and says why', async (t) => {
  const rig = await startClaimRig(t)
  const { token, epoch } = (await rig.acquire('writer', ['/srv'])).json
  const { pin } = (await rig.call('/v1/claims/pin', { token, path: '/srv' })).json
  rig.stand.now = { valid: false, why: 'this instance does not lead' }
  const calls: [string, unknown][] = [
    ['/v1/claims/acquire', { holder: 'writer', paths: ['/srv'] }],
    ['/v1/claims/acquire', { holder: 'writer', paths: ['/srv'], wait: '5s' }],
    ['/v1/claims/release', { token }],
    ['/v1/claims/pin', { token, path: '/srv' }],
    ['/v1/claims/unpin', { pin }],
  ]
  for (const [path, body] of calls) {
    const { status, json } = await rig.call(path, body)
    assert.deepEqual([status, json.error.code], [503, 'no_book'], path)
    assert.match(json.error.message, /this instance does not lead/)
  }
  assert.equal((await rig.ask('/v1/claims')).status, 503)
  assert.equal((await rig.ask('/v1/claims/covering?path=/srv')).status, 503)
  rig.stand.now = STANDS
  const after = await rig.ask('/v1/claims')
  assert.notEqual(after.json.epoch, epoch, 'what was void does not come back')
  assert.deepEqual(after.json.claims, [])
})

test('another tenure is another book: a new epoch, nothing in it, and old tokens prove nothing', async (t) => {
  const rig = await startClaimRig(t)
  const { token, epoch } = (await rig.acquire('writer', ['/srv'])).json
  rig.stand.now = { valid: true, tenure: 'two' }
  const other = await rig.acquire('reader', ['/srv'])
  assert.deepEqual([other.status, other.json.epoch === epoch], [200, false])
  assert.equal((await rig.call('/v1/claims/release', { token })).status, 409)
})

test('a wait over the end of a tenure is not granted in the next one', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  const waiting = rig.acquire('reader', ['/srv'], { wait: '30s' })
  await rig.waits(1)
  rig.stand.now = { valid: true, tenure: 'two' }
  assert.equal((await rig.call('/v1/claims/release', { token })).status, 409)
  const { status, json } = await waiting
  assert.deepEqual([status, json.error.code], [503, 'no_book'])
  assert.deepEqual((await rig.ask('/v1/claims')).json.claims, [])
})

test('a wait that wakes up by itself after the tenure ended is not granted', async (t) => {
  const rig = await startClaimRig(t)
  await rig.acquire('writer', ['/srv'], { ttl: '5s' })
  const waiting = rig.acquire('reader', ['/srv'], { wait: '30s' })
  await rig.waits(1)
  rig.stand.now = { valid: false, why: 'this instance does not lead' }
  rig.clock.advance(5_000)
  assert.equal((await waiting).status, 503)
})

test('calls on claims are guarded as every call that changes something', async (t) => {
  const rig = await startClaimRig(t)
  const body = { holder: 'writer', paths: ['/srv'] }
  const bare = await rig.call('/v1/claims/acquire', body, { 'Content-Type': 'application/json' })
  assert.deepEqual([bare.status, bare.json.error.code], [403, 'header_required'])
  const foreign = await rig.call('/v1/claims/acquire', body, { ...MEANT, Host: 'example.com' })
  assert.deepEqual([foreign.status, foreign.json.error.code], [403, 'foreign_host'])
  const form = await rig.call('/v1/claims/acquire', body, { ...MEANT, 'Content-Type': 'text/plain' })
  assert.equal(form.status, 415)
  assert.deepEqual((await rig.ask('/v1/claims')).json.claims, [])
})

test('a body is validated, and bounded', async (t) => {
  const rig = await startClaimRig(t)
  const paths = ['/srv']
  const bad: unknown[] = [
    {},
    { holder: 'writer' },
    { holder: 'writer', paths: [] },
    { holder: 'writer', paths: '/srv' },
    { holder: 'writer', paths: [7] },
    { holder: 'writer', paths: Array.from({ length: 33 }, (_, i) => `/${i}`) },
    { holder: 'writer', paths: [`/${'x'.repeat(4_096)}`] },
    { holder: '', paths },
    { holder: 'a\nb', paths },
    { holder: '\ud800', paths },
    { holder: 'x'.repeat(201), paths },
    { holder: 'writer', paths, ttl: 300 },
    { holder: 'writer', paths, ttl: '300' },
    { holder: 'writer', paths, ttl: '0' },
    { holder: 'writer', paths, ttl: '25h' },
    { holder: 'writer', paths, wait: '1' },
    { holder: 'writer', paths, token: 'mine' },
    { holder: 'writer', paths, tokens: [] },
  ]
  for (const body of bad) {
    const { status } = await rig.call('/v1/claims/acquire', body)
    assert.equal(status, 400, JSON.stringify(body))
  }
  for (const path of ['', '..', '/a/../b', 'a\\b', '/a\0']) {
    const { status, json } = await rig.acquire('writer', ['/srv', path])
    assert.deepEqual([status, json.error.code], [400, 'bad_path'], JSON.stringify(path))
    assert.equal(await rig.covering(path), 'other')
  }
  const long = Array.from({ length: 32 }, (_, i) => `/${i}${'x'.repeat(2_100)}`)
  const { status, json } = await rig.acquire('writer', long)
  assert.deepEqual([status, json.error.code], [413, 'body_too_large'])
  assert.match(json.error.message, /65536 bytes/)
  const unsized = { ...MEANT, 'Transfer-Encoding': 'chunked' }
  const chunked = await rig.call('/v1/claims/acquire', { holder: 'writer', paths: long }, unsized)
  assert.match(chunked.json.error.message, /65536 bytes/)
  assert.equal((await rig.acquire('writer', long.slice(0, 16))).status, 200, 'more than 4 kB are fine here')
  assert.equal((await rig.ask('/v1/claims/covering')).status, 400)
  assert.equal((await rig.ask('/v1/claims/covering?path=/a&path=/b')).status, 400)
  assert.equal(
    (await rig.ask('/v1/claims?election=fleet-manager')).status,
    400,
    'claims belong to no election',
  )
})

test('without --claims every call says that none are kept, and no list of paths names them', async (t) => {
  const { ask } = await startRig(t)
  for (const path of ['/v1/claims', '/v1/claims/covering', '/v1/claims/acquire']) {
    const { status, json } = await ask(path, {
      method: path.endsWith('acquire') ? 'POST' : 'GET',
      headers: MEANT,
    })
    assert.deepEqual([status, json.error.code], [404, 'claims_off'], path)
    assert.match(json.error.message, /--claims/)
  }
  assert.doesNotMatch((await ask('/nowhere')).json.error.message, /claims/)
})

test('the calls that change the rest keep their own bound of 4 kB', async (t) => {
  const rig = await startClaimRig(t)
  const reply = await rig.call('/v1/resign', { holdOff: 'x'.repeat(5_000) })
  assert.equal(reply.status, 413)
  assert.match(reply.json.error.message, /4096 bytes/)
})
