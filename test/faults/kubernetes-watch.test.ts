import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  attempt,
  hintsOf,
  newCandidate,
  newElection,
  refused,
  startUnless,
  timed,
  until,
  win,
} from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const TTL_MS = 60_000
const SHORT_MS = 3_000
/** What G6 leaves for the whole of a handover after a release. */
const WAKE_MOST_MS = 200

const skip = skipReason()
const bench = await startUnless(skip)

describe('a watch', { skip }, () => {
  it('wakes a follower when the holder releases, and the grant then takes one request', async () => {
    const election = newElection()
    const proxy = await bench.proxy()
    const [holder, follower] = [await bench.open(), await bench.open({ port: proxy.port })]
    const held = await win(holder, election, newCandidate(), { ttlMs: TTL_MS })
    const hints = hintsOf(follower, election)
    await until('the watch is up', () => hints.length === 1)
    proxy.reset()
    const released = performance.now()
    await holder.release(held, attempt())
    await until('the follower is woken', () => hints.length === 2)
    const tookMs = performance.now() - released
    assert.ok(tookMs < WAKE_MOST_MS, `${tookMs} ms`)
    assert.deepEqual(hints, ['changed', 'changed'])
    await win(follower, election, newCandidate(), { above: 1 })
    assert.deepEqual([proxy.count('GET'), proxy.count('PUT')], [0, 1])
  })

  it('that is healthy saves a follower every question while the holder renews', async () => {
    const election = newElection()
    const proxy = await bench.proxy()
    const [holder, follower] = [await bench.open(), await bench.open({ port: proxy.port })]
    const held = await win(holder, election, newCandidate('holder'), { ttlMs: SHORT_MS })
    const hints = hintsOf(follower, election)
    await until('the watch is up', () => hints.length === 1)
    proxy.reset()
    for (let i = 0; i < 4; i++) {
      assert.equal((await holder.renew(held, SHORT_MS, attempt())).kind, 'granted')
      await sleep(SHORT_MS / 4)
      const answer = await refused(follower, election, newCandidate(), { above: 1, ttlMs: SHORT_MS })
      assert.equal(answer.holder, 'holder')
      assert.ok((answer.remainingMs ?? 0) > SHORT_MS / 2, `${answer.remainingMs}`)
      assert.equal((await follower.current(election, attempt()))?.holder, 'holder')
    }
    assert.equal(proxy.requests.length, 0)
    assert.equal(hints.length, 1, 'a renewal is no news')
  })

  it('and no watch: the follower asks, and is granted the lease once the holder is gone', async () => {
    const election = newElection()
    const proxy = await bench.proxy()
    const [holder, follower] = [await bench.open(), await bench.open({ port: proxy.port })]
    await win(holder, election, newCandidate(), { ttlMs: SHORT_MS })
    const hints = hintsOf(follower, election)
    await until('the watch is up', () => hints.length === 1)
    const { remainingMs } = await refused(follower, election, newCandidate(), { above: 1 })
    await sleep((remainingMs ?? 0) + 1)
    const { tookMs } = await timed(() => win(follower, election, newCandidate(), { above: 1 }))
    assert.ok(tookMs < WAKE_MOST_MS, `${tookMs} ms`)
  })

  for (const [what, act] of [
    ['another holder', { spec: { holderIdentity: 'by-hand' } }],
    ['another generation', { spec: { leaseTransitions: 9 } }],
    ['a holder that is cleared', { spec: { holderIdentity: '' } }],
    ['a deletion', null],
  ] as const) {
    it(`tells the holder of ${what} at once, and the next renewal is lost`, async () => {
      const election = newElection()
      const store = await bench.open()
      const hints = hintsOf(store, election)
      const held = await win(store, election, newCandidate(), { ttlMs: TTL_MS })
      await until('the watch shows our own tenure', async () => {
        assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
        await sleep(20)
        return (await bench.namespace.lease(election)) !== null
      })
      assert.ok(!hints.includes('suspect'), 'our own writes are no cause for suspicion')
      const from = performance.now()
      if (act === null) await bench.namespace.deleteLease(election)
      else await bench.namespace.patchLease(election, act)
      await until('the holder is told', () => hints.at(-1) === 'suspect')
      const tookMs = performance.now() - from
      assert.ok(tookMs < WAKE_MOST_MS, `${tookMs} ms`)
      assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'lost')
    })
  }

  it('says nothing of our own tenures: acquired, renewed, acquired anew, released', async () => {
    const election = newElection()
    const store = await bench.open()
    const witness = await bench.open()
    const seen = hintsOf(witness, election)
    const hints = hintsOf(store, election)
    const who = newCandidate()
    const first = await win(store, election, who, { ttlMs: TTL_MS })
    await store.renew(first, TTL_MS, attempt())
    const second = await win(store, election, who, { ttlMs: TTL_MS, above: 1 })
    await until('somebody else sees the second tenure', () => seen.length >= 1)
    await store.release(second, attempt())
    await until('somebody else sees the release', () => seen.length >= 2)
    assert.ok(!hints.includes('suspect'), hints.join())
  })

  it('that was cut comes back, and begins with what stands', async () => {
    const election = newElection()
    const proxy = await TcpProxy.start(bench.server.port)
    after(() => proxy.close())
    const [holder, follower] = [await bench.open(), await bench.open({ port: proxy.port })]
    const held = await win(holder, election, newCandidate(), { ttlMs: TTL_MS })
    const hints = hintsOf(follower, election)
    await until('the watch is up', () => hints.length === 1)
    const connections = proxy.connections
    proxy.cut()
    await holder.release(held, attempt())
    await until('the release wakes, although it was missed', () => hints.length === 2)
    assert.equal(proxy.connections, connections + 1)
  })

  it('that died without a word is found out by the first question that contradicts it', async () => {
    const election = newElection()
    const proxy = await TcpProxy.start(bench.server.port)
    after(() => proxy.close())
    const [holder, follower] = [await bench.open(), await bench.open({ port: proxy.port })]
    const held = await win(holder, election, newCandidate(), { ttlMs: SHORT_MS })
    const hints = hintsOf(follower, election)
    await until('the watch is up', () => hints.length === 1)
    await follower.current(election, attempt())
    const connections = proxy.connections
    proxy.forgetOpen()
    const renewing = async () => {
      for (let i = 0; i < 4; i++) {
        await sleep(SHORT_MS / 4)
        assert.equal((await holder.renew(held, SHORT_MS, attempt())).kind, 'granted')
      }
    }
    await renewing()
    await refused(follower, election, newCandidate(), { above: 1, ttlMs: SHORT_MS })
    // The question's own connection was forgotten as well: one for it, and one for the watch.
    await until('there is another watch', () => proxy.connections === connections + 2)
    await holder.release(held, attempt())
    await until('the release wakes', () => hints.length === 2)
  })

  it('that died without a word is found out by its silence', async () => {
    const election = newElection()
    const proxy = await TcpProxy.start(bench.server.port)
    after(() => proxy.close())
    const store = await bench.open({ port: proxy.port })
    const held = await win(store, election, newCandidate(), { ttlMs: SHORT_MS })
    const hints = hintsOf(store, election)
    await until('a renewal was watched', async () => {
      await store.renew(held, SHORT_MS, attempt())
      return proxy.connections === 2
    })
    await bench.namespace.patchLease(election, { spec: { leaseTransitions: 2 } })
    await until('the watch is up', () => hints.includes('suspect'))
    const { connections } = proxy
    proxy.forgetOpen()
    const { tookMs } = await timed(() => until('a new watch is begun', () => proxy.connections > connections))
    assert.ok(tookMs < SHORT_MS + 1_000, `${tookMs} ms`)
  })

  it('survives a restart of the API server', async () => {
    const election = newElection()
    const [holder, follower] = [await bench.open(), await bench.open()]
    const held = await win(holder, election, newCandidate(), { ttlMs: TTL_MS })
    const hints = hintsOf(follower, election)
    await until('the watch is up', () => hints.length === 1)
    await bench.server.kill()
    await bench.server.start()
    const told = hints.length
    await holder.release(held, attempt())
    await until('the release wakes', () => hints.length > told)
    await until('the follower may have it', async () => {
      const options = { ttlMs: TTL_MS, above: 1 }
      return (await follower.acquire(election, newCandidate(), options, attempt())).kind === 'granted'
    })
  })
})
