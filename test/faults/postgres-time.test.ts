import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Candidate, LeaseStore, Refused } from '../../src/stores/store.ts'
import { ManualClock } from '../support/clock.ts'
import { attempt, newCandidate, newElection, PostgresBench, until, win } from '../support/postgres-bench.ts'

const TTL_MS = 10_000
const HOUR = "interval '1 hour'"
const REWIND_JUMP = 2 ** 20

const bench = await PostgresBench.start()

/** A candidate whose local time moves only when the test says so. */
async function observer(url?: string): Promise<{ store: LeaseStore; clock: ManualClock; who: Candidate }> {
  const clock = new ManualClock()
  const store = await bench.open({ clock, ...(url === undefined ? {} : { url }) })
  return { store, clock, who: newCandidate('observer') }
}

async function refused(
  store: LeaseStore,
  election: string,
  who: Candidate,
  ttlMs = TTL_MS,
): Promise<Refused> {
  const result = await store.acquire(election, who, { ttlMs, above: 1_000 }, attempt())
  assert.equal(result.kind, 'refused', JSON.stringify(result))
  return result as Refused
}

describe("the server's clock was set back by an hour", () => {
  it('the lease is free after one observed ttl, not before, and not while its holder renews', async () => {
    const holder = await bench.open()
    const held = await win(holder, newElection(), newCandidate('holder'), { ttlMs: TTL_MS })
    const { election } = held
    await bench.sql(
      `UPDATE tenure.lease SET expires_at = expires_at + ${HOUR}, renewed_at = renewed_at + ${HOUR} WHERE election = $1`,
      [election],
    )
    const { store, clock, who } = await observer()
    assert.equal((await refused(store, election, who)).remainingMs, TTL_MS)
    clock.advance(TTL_MS - 1)
    assert.equal((await refused(store, election, who)).remainingMs, 1)
    // The holder lives, and renews: what was observed no longer counts.
    assert.equal((await holder.renew(held, TTL_MS, attempt())).kind, 'granted')
    await bench.sql(`UPDATE tenure.lease SET expires_at = expires_at + ${HOUR} WHERE election = $1`, [
      election,
    ])
    clock.advance(1)
    await refused(store, election, who)
    clock.advance(TTL_MS)
    const taken = await win(store, election, who, { above: 1_000 })
    assert.ok(taken.generation > held.generation)
    assert.equal((await holder.renew(held, TTL_MS, attempt())).kind, 'lost')
  })

  it('the ttl that is waited out is that of the row', async () => {
    const held = await win(await bench.open(), newElection(), newCandidate(), { ttlMs: 3 * TTL_MS })
    await bench.sql(`UPDATE tenure.lease SET expires_at = expires_at + ${HOUR} WHERE election = $1`, [
      held.election,
    ])
    const { store, clock, who } = await observer()
    assert.equal((await refused(store, held.election, who)).remainingMs, 3 * TTL_MS)
    clock.advance(3 * TTL_MS - 1)
    await refused(store, held.election, who)
    clock.advance(1)
    await win(store, held.election, who, { above: 1_000 })
  })
})

describe('a server that may have forgotten tenures', () => {
  for (const state of ['held and expired', 'released'] as const) {
    it(`grants a ${state} row of another lineage after one observed ttl, and far above`, async () => {
      const holder = await bench.open()
      const held = await win(holder, newElection(), newCandidate('holder'), {
        ttlMs: state === 'released' ? TTL_MS : 1,
      })
      const { election } = held
      if (state === 'released') await holder.release(held, attempt())
      else await until('it expired', async () => (await bench.leftMs(election)) < 0)
      await bench.sql(`UPDATE tenure.lease SET lineage = '1/00000001' WHERE election = $1`, [election])
      const { store, clock, who } = await observer()
      const first = await refused(store, election, who, 2 * TTL_MS)
      assert.equal(first.remainingMs, 2 * TTL_MS, 'the longer of the two ttls counts')
      clock.advance(2 * TTL_MS - 1)
      await refused(store, election, who, 2 * TTL_MS)
      clock.advance(1)
      const taken = await win(store, election, who, { ttlMs: 2 * TTL_MS, above: 1_000 })
      assert.equal(taken.generation, 1_000 + REWIND_JUMP)
      // The new tenure is of this server: the next one needs no wait and no jump.
      await store.release(taken, attempt())
      const next = await win(await bench.open(), election, newCandidate(), { above: taken.generation })
      assert.equal(next.generation, taken.generation + 1)
    })
  }

  it('lets a tenure renew, which proves nothing: it may be a late renewal of one that was left behind', async () => {
    const holder = await bench.open()
    const held = await win(holder, newElection(), newCandidate(), { ttlMs: TTL_MS })
    const { election } = held
    await bench.sql(`UPDATE tenure.lease SET lineage = '1/00000001' WHERE election = $1`, [election])
    assert.equal((await holder.renew(held, TTL_MS, attempt())).kind, 'granted')
    await holder.release(held, attempt())
    const { store, clock, who } = await observer()
    await refused(store, election, who)
    clock.advance(TTL_MS)
    const next = await win(store, election, who, { above: held.generation })
    assert.equal(next.generation, held.generation + REWIND_JUMP)
  })

  it('is noticed where a row is older than one seen before, or gone', async () => {
    for (const forget of [
      'DELETE FROM tenure.lease WHERE election = $1',
      'UPDATE tenure.lease SET generation = 3 WHERE election = $1',
    ]) {
      const { store, clock, who } = await observer()
      const held = await win(store, newElection(), who, { ttlMs: TTL_MS, above: 99 })
      await store.release(held, attempt())
      await bench.sql(forget, [held.election])
      await refused(store, held.election, who)
      clock.advance(TTL_MS - 1)
      await refused(store, held.election, who)
      clock.advance(1)
      const taken = await win(store, held.election, who, { above: held.generation })
      assert.ok(taken.generation > held.generation)
    }
  })
})

it('a promoted standby: a live tenure goes on, and a takeover waits one ttl and jumps', async () => {
  const primary = await PostgresBench.start()
  const standby = await primary.server.startStandby()
  try {
    const both = `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.server.port}/${primary.database}?sslmode=disable`
    const holder = await bench.open({ url: both })
    const live = await win(holder, newElection(), newCandidate('live'), { ttlMs: 60_000 })
    const gone = await win(holder, newElection(), newCandidate('gone'), { ttlMs: 1 })
    await until('the standby has it', async () => {
      const rows = await standby.query(
        'SELECT 1 FROM tenure.lease WHERE election = $1',
        [gone.election],
        primary.database,
      )
      return rows.length > 0
    })
    await primary.server.kill()
    await standby.query('SELECT pg_promote()')
    assert.equal(
      (await holder.renew(live, 60_000, attempt()).catch(() => holder.renew(live, 60_000, attempt()))).kind,
      'granted',
    )
    const { store, clock, who } = await observer(both)
    await refused(store, gone.election, who)
    clock.advance(TTL_MS)
    const taken = await win(store, gone.election, who, { above: gone.generation })
    assert.ok(taken.generation >= gone.generation + REWIND_JUMP)
    await holder.release(live, attempt())
    await refused(store, live.election, who)
    clock.advance(60_000)
    const next = await win(store, live.election, who, { above: live.generation })
    assert.ok(next.generation >= live.generation + REWIND_JUMP)
  } finally {
    await standby.dispose()
  }
})
