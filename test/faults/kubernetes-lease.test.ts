import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  acquire,
  attempt,
  failsWith,
  newCandidate,
  newElection,
  refused,
  startUnless,
  win,
} from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'

const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
const INT32_MOST = 2 ** 31 - 1
const LONG_AGO = '2020-01-01T00:00:00.000000Z'
const FAR_AHEAD = '2099-01-01T00:00:00.123456Z'

const skip = skipReason()
/** Without it, the API server forgets strategies. */
const COORDINATED = [
  '--feature-gates=CoordinatedLeaderElection=true',
  '--runtime-config=coordination.k8s.io/v1beta1=true',
]
const bench = await startUnless(skip, COORDINATED)

describe('what is written', { skip }, () => {
  it('is what client-go writes, with leaseTransitions as the generation, from 1', async () => {
    const election = newElection()
    const who = newCandidate('pod-1')
    const store = await bench.open()
    assert.equal((await win(store, election, who, { ttlMs: 12_000 })).generation, 1)
    const lease = await bench.namespace.lease(election)
    const { acquireTime, renewTime, ...rest } = lease?.spec ?? {}
    assert.deepEqual(rest, {
      holderIdentity: `pod-1_${who.session}`,
      leaseDurationSeconds: 12,
      leaseTransitions: 1,
    })
    assert.match(acquireTime ?? '', MICRO_TIME)
    assert.equal(renewTime, acquireTime)
  })

  it('starts a created Lease above `above`', async () => {
    const election = newElection()
    assert.equal((await win(await bench.open(), election, newCandidate(), { above: 41 })).generation, 42)
  })

  it('keeps acquireTime and leaseTransitions through a renewal, and grows renewTime', async () => {
    const election = newElection()
    const store = await bench.open()
    const held = await win(store, election, newCandidate())
    const before = await bench.namespace.lease(election)
    await store.renew(held, 10_000, attempt())
    const after = await bench.namespace.lease(election)
    assert.equal(after?.spec.acquireTime, before?.spec.acquireTime)
    assert.equal(after?.spec.leaseTransitions, before?.spec.leaseTransitions)
    assert.ok((after?.spec.renewTime ?? '') > (before?.spec.renewTime ?? ''))
    assert.match(after?.spec.renewTime ?? '', MICRO_TIME)
  })

  it('renews later than the last renewal by a microsecond, where that lies ahead of the wall clock', async () => {
    const election = newElection()
    const store = await bench.open()
    const held = await win(store, election, newCandidate())
    await bench.namespace.patchLease(election, { spec: { renewTime: FAR_AHEAD } })
    assert.equal((await store.renew(held, 10_000, attempt())).kind, 'granted')
    assert.equal((await bench.namespace.lease(election))?.spec.renewTime, '2099-01-01T00:00:00.123457Z')
  })

  it('adds one at every new tenure, also of the same holder', async () => {
    const election = newElection()
    const store = await bench.open()
    const who = newCandidate()
    const first = await win(store, election, who)
    assert.equal((await win(store, election, who, { above: first.generation })).generation, 2)
    assert.equal((await bench.namespace.lease(election))?.spec.leaseTransitions, 2)
  })

  it('releases as client-go does: nobody, for a second, the same leaseTransitions, and no null', async () => {
    const election = newElection()
    const store = await bench.open()
    const held = await win(store, election, newCandidate())
    assert.equal((await store.release(held, attempt())).kind, 'released')
    const { acquireTime, renewTime, ...rest } = (await bench.namespace.lease(election))?.spec ?? {}
    assert.deepEqual(rest, { leaseDurationSeconds: 1, leaseTransitions: 1, holderIdentity: '' })
    assert.match(renewTime ?? '', MICRO_TIME)
    assert.equal(acquireTime, renewTime)
  })

  it("leaves labels, annotations and others' fields as they are, through every write", async () => {
    const election = newElection()
    const metadata = {
      labels: { team: 'ops' },
      annotations: { note: 'by hand' },
      finalizers: ['example.invalid/keep'],
    }
    await bench.namespace.createLease(election, {}, metadata)
    const store = await bench.open()
    const held = await win(store, election, newCandidate())
    await store.renew(held, 10_000, attempt())
    await store.release(held, attempt())
    const stored = (await bench.namespace.lease(election))?.metadata
    assert.deepEqual(stored?.labels, metadata.labels)
    assert.deepEqual(stored?.annotations, metadata.annotations)
    assert.deepEqual((stored as typeof stored & { finalizers: unknown }).finalizers, metadata.finalizers)
  })

  it('refuses a ttl that is not in whole seconds', async () => {
    const store = await bench.open()
    const asked = store.acquire(newElection(), newCandidate(), { ttlMs: 3_500, above: 0 }, attempt())
    assert.match(await failsWith(asked, 'misconfigured'), /3500 ms.*whole seconds/)
  })
})

describe('what is read', { skip }, () => {
  for (const [what, spec] of [
    ['an empty spec', {}],
    ['a holder that is null', { holderIdentity: null, leaseDurationSeconds: 15, renewTime: null }],
    ['a holder that is empty', { holderIdentity: '', leaseTransitions: 4 }],
  ] as const) {
    it(`${what} is free at once`, async () => {
      const election = newElection()
      await bench.namespace.createLease(election, spec)
      const held = await win(await bench.open(), election, newCandidate(), { above: 4 })
      assert.equal(held.generation, 5)
    })
  }

  it('a duration that is absent counts as our own ttl', async () => {
    const election = newElection()
    await bench.namespace.createLease(election, { holderIdentity: 'stranger', renewTime: LONG_AGO })
    const answer = await refused(await bench.open(), election, newCandidate(), { ttlMs: 20_000 })
    assert.equal(answer.remainingMs, 20_000)
  })

  it('a stranger is named as it names itself, and taken over after its own duration, not ours', async () => {
    const election = newElection()
    const spec = {
      holderIdentity: 'web-7',
      leaseDurationSeconds: 1,
      renewTime: LONG_AGO,
      leaseTransitions: 0,
    }
    await bench.namespace.createLease(election, spec)
    const store = await bench.open()
    const answer = await refused(store, election, newCandidate(), { ttlMs: 60_000 })
    assert.deepEqual(answer, {
      kind: 'refused',
      holder: 'web-7',
      session: 'web-7',
      generation: 0,
      remainingMs: 1_000,
    })
    await new Promise((resolve) => setTimeout(resolve, 1_010))
    assert.equal((await win(store, election, newCandidate(), { ttlMs: 60_000 })).generation, 1)
  })

  it('a renewTime long past is no expiry: only what was seen is', async () => {
    const election = newElection()
    const spec = { holderIdentity: 'gone', leaseDurationSeconds: 600, renewTime: LONG_AGO }
    await bench.namespace.createLease(election, spec)
    const answer = await refused(await bench.open(), election, newCandidate())
    assert.equal(answer.remainingMs, 600_000)
  })

  it('our label under another session is reported once, and waited for like any stranger', async () => {
    const election = newElection()
    await win(await bench.open(), election, newCandidate('twin'))
    const store = await bench.open()
    const answer = await refused(store, election, newCandidate('twin'), { above: 1 })
    assert.equal(answer.holder, 'twin')
    await refused(store, election, newCandidate('twin'), { above: 1 })
    assert.equal(bench.notes.length, 1, bench.notes.join('\n'))
    assert.match(bench.notes[0] ?? '', /twin.*another session/)
  })

  it('a Lease with a strategy is refused, and left alone', async () => {
    const election = newElection()
    await bench.namespace.createLease(election, { strategy: 'OldestEmulationVersion' })
    const before = await bench.namespace.lease(election)
    const asked = acquire(await bench.open(), election, newCandidate())
    assert.match(await failsWith(asked, 'misconfigured'), /coordinated leader election/)
    assert.deepEqual(await bench.namespace.lease(election), before)
  })

  it('at the end of int32 no tenure begins, and the error says so', async () => {
    const election = newElection()
    await bench.namespace.createLease(election, { leaseTransitions: INT32_MOST })
    const asked = acquire(await bench.open(), election, newCandidate(), { above: INT32_MOST })
    assert.match(await failsWith(asked, 'misconfigured'), /ends at 2147483647/)
    const last = newElection()
    const held = await win(await bench.open(), last, newCandidate(), { above: INT32_MOST - 1 })
    assert.equal(held.generation, INT32_MOST)
  })
})

describe('a Lease that is edited by hand', { skip }, () => {
  it('labels cost no renewal, and are kept', async () => {
    const election = newElection()
    const store = await bench.open()
    const held = await win(store, election, newCandidate())
    await bench.namespace.patchLease(election, { metadata: { labels: { edited: 'yes' } } })
    assert.equal((await store.renew(held, 10_000, attempt())).kind, 'granted')
    assert.deepEqual((await bench.namespace.lease(election))?.metadata.labels, { edited: 'yes' })
  })

  it('labels are no sign of life', async () => {
    const election = newElection()
    const spec = { holderIdentity: 'gone', leaseDurationSeconds: 1, renewTime: LONG_AGO }
    await bench.namespace.createLease(election, spec)
    const store = await bench.open()
    await refused(store, election, newCandidate())
    await new Promise((resolve) => setTimeout(resolve, 600))
    await bench.namespace.patchLease(election, { metadata: { labels: { edited: 'yes' } } })
    const answer = await refused(store, election, newCandidate())
    assert.ok((answer.remainingMs ?? 0) <= 400, `${answer.remainingMs}`)
  })

  for (const [what, patch] of [
    ['a holder that is cleared', { spec: { holderIdentity: '' } }],
    ['a holder that is removed', { spec: { holderIdentity: null } }],
    ['another holder', { spec: { holderIdentity: 'by-hand' } }],
    ['leaseTransitions that are lowered', { spec: { leaseTransitions: 3 } }],
    ['a spec that is removed', { spec: null }],
  ] as const) {
    it(`${what} ends the tenure, and neither renewal nor release changes anything`, async () => {
      const election = newElection()
      const store = await bench.open()
      const held = await win(store, election, newCandidate(), { above: 8 })
      await bench.namespace.patchLease(election, patch)
      const before = await bench.namespace.lease(election)
      assert.equal((await store.renew(held, 10_000, attempt())).kind, 'lost')
      assert.equal((await store.release(held, attempt())).kind, 'lost')
      assert.deepEqual(await bench.namespace.lease(election), before)
    })
  }

  it('whoever saw the higher generation goes on above it', async () => {
    const election = newElection()
    const store = await bench.open()
    const who = newCandidate()
    await win(store, election, who, { above: 8 })
    await bench.namespace.patchLease(election, { spec: { leaseTransitions: 3 } })
    assert.equal((await win(store, election, who, { above: 5 })).generation, 10)
  })
})
