import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ClaimDesk } from '../../src/claims/desk.ts'
import { CLAIM_CALLS, type ClaimCall } from '../../src/http/claims.ts'
import { ManualClock } from '../support/clock.ts'
import { until } from '../support/sidecar.ts'
import { fits, MEANT, STANDS, startClaimRig, UUID } from './http-claims-fixtures.ts'

test('claims are granted with a token, refused by name, asked about and released', async (t) => {
  const rig = await startClaimRig(t)
  const granted = await rig.acquire('writer-1', ['/srv/src', '/srv/README.md'])
  assert.equal(granted.status, 200)
  assert.deepEqual(
    granted.json.claims.map((one: { path: string }) => one.path),
    ['/srv/src', '/srv/README.md'],
  )
  assert.equal(granted.json.claims[0].ttlMs, 300_000)
  rig.clock.advance(1_500)
  const refused = await rig.acquire('reviewer-1', ['/srv/src/app.ts'])
  assert.deepEqual(
    [refused.status, refused.json.error.code, refused.json.epoch],
    [409, 'conflict', granted.json.epoch],
  )
  assert.deepEqual(refused.json.conflicts, [
    {
      path: '/srv/src/app.ts',
      heldPath: '/srv/src',
      holder: 'writer-1',
      heldForMs: 1_500,
      expiresInMs: 298_500,
      pinned: false,
    },
  ])
  assert.match(refused.json.error.message, /"\/srv\/src\/app\.ts": "writer-1" holds "\/srv\/src".*wait/)
  const { token } = granted.json
  assert.equal(await rig.covering('/srv/src/app.ts', `&token=${token}`), 'own')
  assert.equal(await rig.covering('/srv/src/app.ts'), 'other')
  assert.equal(await rig.covering('/srv/docs'), 'free')
  const released = await rig.call('/v1/claims/release', { token, paths: ['/srv/src', '/nowhere'] })
  assert.deepEqual([released.json.released, released.json.notHeld], [['/srv/src'], ['/nowhere']])
  assert.deepEqual((await rig.call('/v1/claims/release', { token })).json.released, ['/srv/README.md'])
  assert.equal((await rig.acquire('reviewer-1', ['/srv/src/app.ts'])).status, 200)
})

test('a holder is only a label: the same one without the token is somebody else', async (t) => {
  const rig = await startClaimRig(t)
  const first = await rig.acquire('writer', ['/srv'])
  const again = await rig.acquire('writer', ['/srv'])
  assert.deepEqual([again.status, again.json.conflicts[0].holder], [409, 'writer'])
  const refreshed = await rig.acquire('writer', ['/srv', '/more'], { token: first.json.token })
  assert.equal(refreshed.status, 200)
  assert.equal(await rig.covering('/srv', '&holder=writer'), 'own', 'a label may be asked about')
  assert.equal(await rig.covering('/srv', '&holder=reader'), 'other')
  assert.equal(await rig.covering('/', '&holder=writer'), 'free')
  assert.equal(await rig.covering('/', '&holder=reader'), 'other')
})

test('a refresh keeps the token, so that whoever lost an answer may ask again', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  for (const paths of [['/srv'], ['/srv', '/more'], ['/srv', '/more']]) {
    const again = await rig.acquire('writer', paths, { token })
    assert.deepEqual([again.status, again.json.token], [200, token])
  }
  const { released } = (await rig.call('/v1/claims/release', { token })).json
  assert.deepEqual(released.toSorted(), ['/more', '/srv'])
})

test('a token is over with the last of its claims: a call that comes late with it changes nothing', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  await rig.call('/v1/claims/release', { token })
  const second = await rig.acquire('writer', ['/srv'])
  assert.notEqual(second.json.token, token)
  for (const [path, body] of [
    ['/v1/claims/release', { token }],
    ['/v1/claims/release', { token: UUID }],
    ['/v1/claims/pin', { token, path: '/srv' }],
    ['/v1/claims/acquire', { token, holder: 'writer', paths: ['/other'] }],
    ['/v1/claims/acquire', { token, holder: 'writer', paths: ['/other'], wait: '10s' }],
  ] as const) {
    const { status, json } = await rig.call(path, body)
    assert.deepEqual([status, json.error.code], [409, 'lost'], path)
  }
  assert.equal(await rig.covering('/srv', `&token=${token}`), 'other')
  assert.equal(await rig.covering('/srv', `&token=${second.json.token}`), 'own')
  assert.equal((await rig.ask('/v1/claims')).json.claims.length, 1)
})

test('what is granted to a client that has gone is given back, unless it shows a token', async () => {
  const clock = new ManualClock()
  const desk = new ClaimDesk({ workspace: 'srv', claimsMost: 10, clock, standing: () => STANDS })
  const acquire = async (goneAfter: boolean, more: object = {}): Promise<void> => {
    const response = Object.assign(new EventEmitter(), { destroyed: !goneAfter }) as unknown as ServerResponse
    const request = {
      body: { holder: 'gone', paths: ['/srv'], wait: '10s', ...more },
      socket: { destroyed: false },
    }
    const call = {
      desk,
      ending: new AbortController().signal,
      query: new Map(),
      request,
      response,
    } as unknown as ClaimCall
    const done = CLAIM_CALLS['/v1/claims/acquire'](call)
    Object.assign(response, { destroyed: true })
    await done
  }
  const held = (): number => {
    const status = desk.status()
    return 'claims' in status ? status.claims.length : -1
  }
  await acquire(false)
  assert.equal(held(), 0, 'gone before')
  await acquire(true)
  assert.equal(held(), 0, 'gone after')
  const granted = desk.acquire({ holder: 'worker', paths: ['/srv'], ttlMs: 1_000, token: null })
  assert.ok('token' in granted)
  await acquire(true, { token: granted.token })
  assert.equal(held(), 1, 'its work may still run')
})

test('a grant that never reaches a client that sent its requests in a row is given back', async (t) => {
  const rig = await startClaimRig(t)
  await rig.acquire('writer', ['/srv'])
  const ask = (body: object): string => {
    const text = JSON.stringify(body)
    const headers = Object.entries({ ...MEANT, Host: `127.0.0.1:${rig.port}`, 'Content-Length': text.length })
    const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    return `POST /v1/claims/acquire HTTP/1.1\r\n${head}\r\n${text}`
  }
  const client = connect(rig.port, '127.0.0.1')
  client.on('error', () => undefined)
  // The answer to the second has to wait for that to the first.
  client.write(
    ask({ holder: 'first', paths: ['/srv'], wait: '60s' }) + ask({ holder: 'second', paths: ['/x'] }),
  )
  await rig.waits(1)
  await until('the second is granted', async () => ((await rig.covering('/x')) === 'other' ? true : null))
  client.destroy()
  await until('the path is free', async () => ((await rig.covering('/x')) === 'free' ? true : null))
  await rig.waits(0)
})

test('a grant whose answer arrived stays when the connection ends', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'], {})).json
  await rig.call('/v1/claims/acquire', { holder: 'last', paths: ['/x'] }, { ...MEANT, Connection: 'close' })
  assert.equal((await rig.ask('/v1/claims')).json.claims.length, 2)
  assert.equal(await rig.covering('/srv', `&token=${token}`), 'own')
})

test('an owner has one label: that of its first grant, and another one is refused', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  for (const wait of [{}, { wait: '5s' }]) {
    const other = await rig.acquire('reader', ['/srv', '/more'], { token, ...wait })
    assert.deepEqual([other.status, other.json.error.code], [400, 'other_holder'])
    const none = await rig.call('/v1/claims/acquire', { paths: ['/srv', '/docs'], token, ...wait })
    assert.deepEqual([none.status, none.json.holder, none.json.token], [200, 'writer', token])
  }
  const shown: { holder: string }[] = (await rig.ask('/v1/claims')).json.claims
  assert.deepEqual(
    shown.map(({ holder }) => holder),
    ['writer', 'writer'],
  )
  const newcomer = await rig.call('/v1/claims/acquire', { paths: ['/new'] })
  assert.deepEqual([newcomer.status, newcomer.json.error.code], [400, 'holder_required'])
  assert.match(newcomer.json.error.message, /holder is missing/)
})

test('covering says whether the token that was shown proves anything', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  const proves = async (more: string): Promise<boolean | null> =>
    (await rig.ask(`/v1/claims/covering?path=/x${more}`)).json.tokenProves
  assert.equal(await proves(`&token=${token}`), true)
  assert.equal(await proves(`&token=${UUID}`), false)
  assert.equal(await proves('&holder=writer'), null)
  await rig.call('/v1/claims/release', { token })
  assert.equal(await proves(`&token=${token}`), false)
})

test('a refusal names the first of many in the way, and how many it leaves off', async (t) => {
  const rig = await startClaimRig(t)
  const paths = Array.from({ length: 4 }, (_, i) => `/p/${i}`)
  await rig.acquire('writer', paths)
  const { json } = await rig.acquire(
    'reader',
    Array.from({ length: 20 }, (_, i) => `r${i}`),
  )
  assert.deepEqual([json.conflicts.length, json.conflictsLeftOff, json.aheadLeftOff], [64, 16, 0])
})

test('a token whose claims are over proves nothing any more, also when the path is free', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'], { ttl: '10s' })).json
  rig.clock.advance(10_000)
  const late = await rig.acquire('writer', ['/srv'], { token })
  assert.deepEqual([late.status, late.json.error.code], [409, 'lost'])
  assert.equal(await rig.covering('/srv'), 'free')
})

test('a wait returns with the release that it waited for', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  const waiting = rig.acquire('reader', ['/srv/a'], { wait: '30s' })
  await rig.waits(1)
  await rig.call('/v1/claims/release', { token })
  const { status, json } = await waiting
  assert.equal(status, 200)
  assert.equal(await rig.covering('/srv/a', `&token=${json.token}`), 'own')
})

test('a wait returns with the expiry that it waited for, and by its bound, which is cut to 60 s', async (t) => {
  const rig = await startClaimRig(t)
  await rig.acquire('writer', ['/a'], { ttl: '5s' })
  await rig.acquire('writer', ['/b'], { ttl: '1h' })
  const first = rig.acquire('reader', ['/a'], { wait: '30s' })
  const second = rig.acquire('other', ['/b'], { wait: '24h' })
  await rig.waits(2)
  rig.clock.advance(5_000)
  assert.equal((await first).status, 200)
  rig.clock.advance(55_000)
  const { status, json } = await second
  assert.deepEqual([status, json.error.code, json.conflicts[0].heldForMs], [409, 'timeout', 60_000])
})

test('who holds claims may not wait for more', async (t) => {
  const rig = await startClaimRig(t)
  await rig.acquire('writer', ['/a'])
  const { token } = (await rig.acquire('reader', ['/b'])).json
  const { status, json } = await rig.acquire('reader', ['/a'], { token, wait: '30s' })
  assert.deepEqual([status, json.error.code, json.conflicts.length], [409, 'holding', 1])
  assert.equal((await rig.acquire('reader', ['/c'], { token, wait: '30s' })).status, 200)
})

test('a wait whose client has gone ends at once, and frees those behind it', async (t) => {
  const rig = await startClaimRig(t)
  await rig.acquire('writer', ['/srv/a'])
  const timersBefore = rig.clock.timers
  const { request } = await import('node:http')
  const leaving = request({
    port: rig.port,
    host: '127.0.0.1',
    path: '/v1/claims/acquire',
    method: 'POST',
    headers: MEANT,
    agent: false,
  })
  leaving.on('error', () => undefined)
  leaving.end(JSON.stringify({ holder: 'gone', paths: ['/srv'], wait: '30s' }))
  await rig.waits(1)
  const behind = rig.acquire('reader', ['/srv/b'], { wait: '30s' })
  await rig.waits(2)
  leaving.destroy()
  assert.equal((await behind).status, 200)
  await rig.waits(0)
  assert.equal(rig.clock.timers, timersBefore, 'no sleep is left behind')
  assert.deepEqual(rig.faults, [])
})

test('a pin keeps a claim alive up to the bound of its own, or until the unpin', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'], { ttl: '10s' })).json
  const first = await rig.call('/v1/claims/pin', { token, path: '/srv/app.ts' })
  assert.deepEqual([first.status, first.json.endsInMs, first.json.claim.path], [200, 60_000, '/srv'])
  const second = await rig.call('/v1/claims/pin', { token, path: '/srv', for: '2m' })
  rig.clock.advance(60_000)
  assert.equal(
    (await rig.call('/v1/claims/unpin', { pin: first.json.pin })).status,
    409,
    'it ended by itself',
  )
  assert.equal(await rig.covering('/srv', `&token=${token}`), 'own')
  const released = await rig.call('/v1/claims/release', { token })
  assert.deepEqual([released.json.released, released.json.deferred], [[], ['/srv']])
  assert.equal((await rig.acquire('reader', ['/srv'])).json.conflicts[0].pinned, true)
  const unpinned = await rig.call('/v1/claims/unpin', { pin: second.json.pin })
  assert.deepEqual([unpinned.status, unpinned.json.ended], [200, 'released'])
  assert.equal((await rig.acquire('reader', ['/srv'])).status, 200)
})

test('a pin without a claim, or for too long, is refused', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  const elsewhere = await rig.call('/v1/claims/pin', { token, path: '/' })
  assert.deepEqual([elsewhere.status, elsewhere.json.error.code], [409, 'not_held'])
  for (const bound of ['11m', '0', '10']) {
    const { status, json } = await rig.call('/v1/claims/pin', { token, path: '/srv', for: bound })
    assert.deepEqual([status, json.error.code], [400, 'bad_duration'], bound)
  }
})

test('the status shows everything and no token', async (t) => {
  const rig = await startClaimRig(t)
  const { token } = (await rig.acquire('writer', ['/srv'])).json
  const { pin } = (await rig.call('/v1/claims/pin', { token, path: '/srv' })).json
  const waiting = rig.acquire('reader', ['/srv/a'], { wait: '5s' })
  await rig.waits(1)
  const reply = await rig.ask('/v1/claims')
  fits('/v1/claims', reply)
  assert.deepEqual(
    [reply.json.claims.length, reply.json.waits[0].waitsFor, reply.json.pins.length],
    [1, ['writer'], 1],
  )
  assert.ok(!reply.text.includes(token) && !reply.text.includes(pin))
  rig.clock.advance(5_000)
  await waiting
})
