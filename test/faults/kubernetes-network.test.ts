import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  attempt,
  failsWith,
  newCandidate,
  newElection,
  startUnless,
  timed,
  win,
} from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import type { HttpFault } from '../support/kubernetes/http-proxy.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const TTL_MS = 60_000
const ATTEMPT_MS = 500
/** What a machine under load may add. */
const SLACK_MS = 600

const skip = skipReason()
const bench = await startUnless(skip)

async function tcpProxy(): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(bench.server.port)
  after(() => proxy.close())
  return proxy
}

describe('a connection to the API server', { skip }, () => {
  it('is one, kept alive, whatever is asked', async () => {
    const proxy = await tcpProxy()
    const store = await bench.open({ port: proxy.port })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    for (let i = 0; i < 10; i++) assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
    await store.current(held.election, attempt())
    await store.release(held, attempt())
    assert.equal(proxy.connections, 1)
  })

  it('that is half open costs one attempt, and is never used again', async () => {
    const proxy = await tcpProxy()
    const store = await bench.open({ port: proxy.port })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    proxy.forgetOpen()
    const { tookMs } = await timed(() =>
      failsWith(store.renew(held, TTL_MS, attempt(ATTEMPT_MS)), 'unavailable'),
    )
    assert.ok(tookMs < ATTEMPT_MS + SLACK_MS, `${tookMs} ms`)
    assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
    assert.equal(proxy.connections, 2)
  })

  it('that never comes about ends with the attempt', async () => {
    const proxy = await tcpProxy()
    const store = await bench.open({ port: proxy.port })
    proxy.mode = 'swallow'
    const forgotten = { timeoutMs: ATTEMPT_MS, signal: new AbortController().signal }
    const { tookMs } = await timed(() => failsWith(store.current(newElection(), forgotten), 'unavailable'))
    assert.ok(tookMs >= ATTEMPT_MS && tookMs < ATTEMPT_MS + SLACK_MS, `${tookMs} ms`)
  })

  it('that hangs does not keep a store from closing', async () => {
    const proxy = await tcpProxy()
    const store = await bench.open({ port: proxy.port })
    proxy.mode = 'swallow'
    const request = failsWith(store.current(newElection(), attempt()), 'unavailable')
    const { tookMs } = await timed(() => Promise.all([store.close(), request]))
    assert.ok(tookMs < SLACK_MS, `${tookMs} ms`)
    await failsWith(store.current(newElection(), attempt()), 'unavailable')
  })
})

describe('a request whose outcome is unknown', { skip }, () => {
  for (const fault of ['drop-reply', 'hang-after', 'slow-body', 'garbage'] as const) {
    it(`a renewal that committed (${fault}) counts as failed, and the next one goes on`, async () => {
      const proxy = await bench.proxy()
      const store = await bench.open({ port: proxy.port })
      const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
      const before = await bench.namespace.lease(held.election)
      proxy.fail(({ method }) => (method === 'PUT' ? fault : null))
      await failsWith(store.renew(held, TTL_MS, attempt(ATTEMPT_MS)), 'unavailable')
      proxy.mend()
      const committed = await bench.namespace.lease(held.election)
      assert.notEqual(committed?.spec.renewTime, before?.spec.renewTime)
      assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
      const renewed = await bench.namespace.lease(held.election)
      assert.ok((renewed?.spec.renewTime ?? '') > (committed?.spec.renewTime ?? ''))
      assert.equal(renewed?.spec.leaseTransitions, 1)
    })
  }

  it('an acquire that committed is found by the next one, which begins a tenure above it', async () => {
    for (const method of ['POST', 'PUT']) {
      const election = newElection()
      if (method === 'PUT') await bench.namespace.createLease(election)
      const proxy = await bench.proxy()
      const store = await bench.open({ port: proxy.port })
      const who = newCandidate()
      proxy.fail((request) => (request.method === method ? 'drop-reply' : null))
      const lost = store.acquire(election, who, { ttlMs: TTL_MS, above: 0 }, attempt())
      await failsWith(lost, 'unavailable')
      proxy.mend()
      const found = await store.acquire(election, who, { ttlMs: TTL_MS, above: 0 }, attempt())
      assert.ok(found.kind === 'refused' && found.session === who.session && found.generation === 1)
      assert.equal((await win(store, election, who, { above: 1 })).generation, 2)
    }
  })

  it('a release that committed is lost when it is repeated, and the lease stays free', async () => {
    const proxy = await bench.proxy()
    const store = await bench.open({ port: proxy.port })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    proxy.fail(({ method }) => (method === 'PUT' ? 'drop-reply' : null))
    await failsWith(store.release(held, attempt()), 'unavailable')
    proxy.mend()
    assert.equal((await store.release(held, attempt())).kind, 'lost')
    assert.equal((await bench.namespace.lease(held.election))?.spec.holderIdentity, '')
  })

  it('a request that did not arrive changes nothing, and ends with the attempt', async () => {
    const proxy = await bench.proxy()
    const store = await bench.open({ port: proxy.port })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    const before = await bench.namespace.lease(held.election)
    proxy.fail(() => 'hang-before')
    const forgotten = { timeoutMs: ATTEMPT_MS, signal: new AbortController().signal }
    const { tookMs } = await timed(() => failsWith(store.renew(held, TTL_MS, forgotten), 'unavailable'))
    assert.ok(tookMs < ATTEMPT_MS + SLACK_MS, `${tookMs} ms`)
    assert.deepEqual(await bench.namespace.lease(held.election), before)
  })
})

describe('an API server that is overloaded', { skip }, () => {
  const tooMany = (retryAfterSeconds: number): HttpFault => ({ tooMany: { retryAfterSeconds } })

  it('is out of reach, and asked again only when it said', async () => {
    const proxy = await bench.proxy()
    const store = await bench.open({ port: proxy.port })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    proxy.fail(() => tooMany(1))
    const message = await failsWith(store.renew(held, TTL_MS, attempt()), 'unavailable')
    assert.match(message, /429/)
    proxy.mend()
    const { result, tookMs } = await timed(() => store.renew(held, TTL_MS, attempt()))
    assert.equal(result.kind, 'granted')
    assert.ok(tookMs > 900 && tookMs < 1_000 + SLACK_MS, `${tookMs} ms`)
  })

  it('is not waited for longer than half of an attempt', async () => {
    const proxy = await bench.proxy()
    const store = await bench.open({ port: proxy.port })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    proxy.fail(() => tooMany(3_600))
    await failsWith(store.renew(held, TTL_MS, attempt()), 'unavailable')
    proxy.mend()
    const { result, tookMs } = await timed(() => store.renew(held, TTL_MS, attempt(2_000)))
    assert.equal(result.kind, 'granted')
    assert.ok(tookMs > 900 && tookMs < 1_000 + SLACK_MS, `${tookMs} ms`)
  })
})

// Last: these take the server away.
describe('an API server that is away', { skip }, () => {
  it('killed and started again: requests fail meanwhile, at once, and the tenure goes on after', async () => {
    const store = await bench.open()
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    await bench.server.kill()
    const { tookMs } = await timed(() => failsWith(store.renew(held, TTL_MS, attempt()), 'unavailable'))
    assert.ok(tookMs < SLACK_MS, `${tookMs} ms`)
    await bench.server.start()
    assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
  })

  it('frozen: the attempt is all that it costs', async () => {
    const store = await bench.open()
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    bench.server.pause()
    const { tookMs } = await timed(() =>
      failsWith(store.renew(held, TTL_MS, attempt(ATTEMPT_MS)), 'unavailable'),
    )
    bench.server.resume()
    assert.ok(tookMs < ATTEMPT_MS + SLACK_MS, `${tookMs} ms`)
    assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
  })
})
