import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../../src/clock/system-clock.ts'
import {
  attempt,
  newCandidate,
  newElection,
  refused,
  startUnless,
  until,
  win,
} from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { ShiftedClock } from '../support/kubernetes/shifted-clock.ts'

const TTL_MS = 60_000
const SHORT_MS = 10_000
/** What real time may take from a span between two calls. */
const SLACK_MS = 5_000

const skip = skipReason()
const bench = await startUnless(skip)

/** A candidate on a machine of its own, whose clock is moved by hand. */
async function candidate() {
  const clock = new ShiftedClock(systemClock())
  return { clock, store: await bench.open({ clock }), who: newCandidate() }
}

function assertAbout(actualMs: number | null, expectedMs: number): void {
  assert.ok(
    actualMs !== null && actualMs <= expectedMs && actualMs > expectedMs - SLACK_MS,
    `${actualMs} ms is not about ${expectedMs} ms`,
  )
}

describe('the expiry of another', { skip }, () => {
  it('counts from when we first saw the record, however old it is', async () => {
    const election = newElection()
    const [holder, follower] = [await candidate(), await candidate()]
    await win(holder.store, election, holder.who, { ttlMs: TTL_MS })
    follower.clock.forward(TTL_MS + 1_000)
    assertAbout((await refused(follower.store, election, follower.who, { above: 1 })).remainingMs, TTL_MS)
    follower.clock.forward(TTL_MS - SLACK_MS)
    await refused(follower.store, election, follower.who, { above: 1 })
    follower.clock.forward(SLACK_MS)
    const held = await win(follower.store, election, follower.who, { above: 1 })
    assert.equal(held.generation, 2)
    assert.ok((held.leaderlessMs ?? 0) >= 0)
  })

  it('begins anew with every renewal that we see', async () => {
    const election = newElection()
    const [holder, follower] = [await candidate(), await candidate()]
    const held = await win(holder.store, election, holder.who, { ttlMs: TTL_MS })
    for (let i = 0; i < 3; i++) {
      assertAbout((await refused(follower.store, election, follower.who, { above: 1 })).remainingMs, TTL_MS)
      follower.clock.forward(TTL_MS - SLACK_MS)
      assert.equal((await holder.store.renew(held, TTL_MS, attempt())).kind, 'granted')
    }
  })

  it("lasts the record's own duration, not ours", async () => {
    const election = newElection()
    const [holder, follower] = [await candidate(), await candidate()]
    await win(holder.store, election, holder.who, { ttlMs: TTL_MS })
    const asking = { ttlMs: SHORT_MS, above: 1 }
    await refused(follower.store, election, follower.who, asking)
    follower.clock.forward(SHORT_MS + 1_000)
    const { remainingMs } = await refused(follower.store, election, follower.who, asking)
    assertAbout(remainingMs, TTL_MS - SHORT_MS - 1_000)
  })

  it('is never believed against a renewal that commits between our look and our write', async () => {
    const election = newElection()
    const [holder, follower] = [await candidate(), await candidate()]
    const proxy = await bench.proxy()
    const store = await bench.open({ clock: follower.clock, port: proxy.port })
    const held = await win(holder.store, election, holder.who, { ttlMs: TTL_MS })
    await refused(store, election, follower.who, { above: 1 })
    follower.clock.forward(TTL_MS + 1_000)
    proxy.beforeReply(async ({ method }) => {
      if (method === 'GET') assert.equal((await holder.store.renew(held, TTL_MS, attempt())).kind, 'granted')
    })
    const outcome = await store.acquire(election, follower.who, { ttlMs: TTL_MS, above: 1 }, attempt())
    assert.equal(outcome.kind, 'contended')
    proxy.mend()
    assertAbout((await refused(store, election, follower.who, { above: 1 })).remainingMs, TTL_MS)
    assert.equal((await holder.store.renew(held, TTL_MS, attempt())).kind, 'granted')
  })
})

describe('a Lease that is deleted', { skip }, () => {
  it('ends the tenure of its holder, which does not make it anew by renewing', async () => {
    const election = newElection()
    const { store, who } = await candidate()
    const held = await win(store, election, who, { ttlMs: TTL_MS })
    await bench.namespace.deleteLease(election)
    assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'lost')
    assert.equal((await store.release(held, attempt())).kind, 'lost')
    assert.equal(await bench.namespace.lease(election), null)
  })

  it('is waited out by whoever saw it held, and the next generation is above every one seen', async () => {
    const election = newElection()
    const [holder, follower] = [await candidate(), await candidate()]
    await win(holder.store, election, holder.who, { ttlMs: TTL_MS, above: 6 })
    await refused(follower.store, election, follower.who, { above: 7 })
    await bench.namespace.deleteLease(election)
    const gone = await refused(follower.store, election, follower.who)
    assert.deepEqual([gone.holder, gone.session, gone.generation], [null, null, 7])
    assertAbout(gone.remainingMs, TTL_MS)
    follower.clock.forward(TTL_MS - SLACK_MS)
    assertAbout((await refused(follower.store, election, follower.who)).remainingMs, SLACK_MS)
    follower.clock.forward(SLACK_MS)
    assert.equal((await win(follower.store, election, follower.who)).generation, 8)
  })

  it('is waited out as well where a watch showed the end of it', async () => {
    const election = newElection()
    const [holder, follower] = [await candidate(), await candidate()]
    await win(holder.store, election, holder.who, { ttlMs: TTL_MS })
    const hints: string[] = []
    follower.store.watch?.(election, (hint) => hints.push(hint))
    await until('the watch is up', () => hints.length === 1)
    await refused(follower.store, election, follower.who, { above: 1 })
    await bench.namespace.deleteLease(election)
    await until('the deletion is seen', () => hints.length === 2)
    assertAbout((await refused(follower.store, election, follower.who, { above: 1 })).remainingMs, TTL_MS)
  })

  it('is not waited out when it was free, or seen to have run out', async () => {
    for (const end of ['released', 'expired']) {
      const election = newElection()
      const [holder, follower] = [await candidate(), await candidate()]
      const held = await win(holder.store, election, holder.who, { ttlMs: TTL_MS })
      if (end === 'released') await holder.store.release(held, attempt())
      await follower.store.current(election, attempt())
      follower.clock.forward(TTL_MS + 1_000)
      await follower.store.current(election, attempt())
      await bench.namespace.deleteLease(election)
      assert.equal((await win(follower.store, election, follower.who, { above: 1 })).generation, 2)
    }
  })

  it('and made anew by hand is waited out like the one before it, although it is free', async () => {
    const election = newElection()
    const [holder, follower] = [await candidate(), await candidate()]
    await win(holder.store, election, holder.who, { ttlMs: TTL_MS, above: 6 })
    await refused(follower.store, election, follower.who, { above: 7 })
    await bench.namespace.deleteLease(election)
    await bench.namespace.createLease(election)
    assertAbout((await refused(follower.store, election, follower.who, { above: 7 })).remainingMs, TTL_MS)
    follower.clock.forward(TTL_MS)
    assert.equal((await win(follower.store, election, follower.who, { above: 7 })).generation, 8)
  })

  it('is made anew at once by a process that knows nothing of it, above what it was told', async () => {
    const election = newElection()
    const [holder, fresh] = [await candidate(), await candidate()]
    const held = await win(holder.store, election, holder.who, { ttlMs: TTL_MS })
    await bench.namespace.deleteLease(election)
    assert.equal((await win(fresh.store, election, fresh.who, { above: 99 })).generation, 100)
    assert.equal((await holder.store.renew(held, TTL_MS, attempt())).kind, 'lost')
    assert.equal((await holder.store.release(held, attempt())).kind, 'lost')
    assert.equal((await bench.namespace.lease(election))?.spec.leaseTransitions, 100)
  })
})
