import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { Contender, candidate } from '../conformance/harness.ts'
import { SqlitePlace } from '../conformance/sqlite-place.ts'
import { ManualClock } from '../support/clock.ts'

const TTL_MS = 10_000
/** What a lease is kept beyond its ttl: one step of the boot clock. */
const STEP_MS = 10

let place: SqlitePlace
beforeEach(() => {
  place = new SqlitePlace()
})
afterEach(() => place.close())

async function contender(clock: ManualClock, identity = 'somebody'): Promise<Contender> {
  return new Contender(await place.open(clock), 'fleet', candidate(identity))
}

/** A machine whose boot clock has another name, and stands far ahead: by its own reckoning all has expired. */
function foreignMachine(): ManualClock {
  return new ManualClock({ bootClockId: 'another-clock', bootMs: 10 ** 12 })
}

test('a lease written by another boot clock is free only after it was seen unchanged for one whole ttl', async () => {
  const holder = await contender(place.machine, 'holder')
  const held = await holder.win(0, TTL_MS)
  const clock = foreignMachine()
  const other = await contender(clock)

  const first = await other.refused(held.generation)
  assert.equal(first.holder, 'holder')
  assert.equal(first.remainingMs, TTL_MS, 'worth asking again when the observation is over')
  clock.advance(TTL_MS - 1)
  assert.equal((await other.refused(held.generation)).remainingMs, 1)
  clock.advance(1)
  const taken = await other.win(held.generation)
  assert.equal(taken.leaderlessMs, null, 'no clock can tell')
})

test('a renewal by the other clock begins the observation anew', async () => {
  const holder = await contender(place.machine)
  const held = await holder.win(0, TTL_MS)
  const clock = foreignMachine()
  const other = await contender(clock)
  await other.refused(held.generation)
  for (let i = 0; i < 5; i++) {
    clock.advance(TTL_MS / 2)
    place.machine.advance(TTL_MS / 2)
    assert.equal(await holder.renew(held, TTL_MS), 'granted')
    await other.refused(held.generation)
  }
})

test('an observer that was suspended has not observed', async () => {
  const held = await (await contender(place.machine)).win(0, TTL_MS)
  const clock = foreignMachine()
  const other = await contender(clock)
  await other.refused(held.generation)
  clock.advanceSuspended(10 * TTL_MS)
  await other.refused(held.generation)
})

test('a lease released under another boot clock is free at once', async () => {
  const holder = await contender(place.machine)
  const held = await holder.win(0, TTL_MS)
  assert.equal(await holder.release(held), 'released')
  const taken = await (await contender(foreignMachine())).win(held.generation)
  assert.equal(taken.leaderlessMs, null)
})

test('a tenure cannot be renewed under another boot clock, but released', async () => {
  const holder = await contender(place.machine)
  const held = await holder.win(0, TTL_MS)
  const elsewhere = await contender(foreignMachine())
  assert.equal(await elsewhere.renew(held, TTL_MS), 'lost')
  assert.equal(await elsewhere.release(held), 'released')
})

test('the time left of a lease under another boot clock is unknown, not zero', async () => {
  await (await contender(place.machine, 'holder')).win(0, TTL_MS)
  const view = await (await contender(foreignMachine())).current()
  assert.equal(view?.holder, 'holder')
  assert.equal(view?.remainingMs, null)
  assert.equal(view?.expiresAt, null)
})

test('a lease that lies further ahead than its ttl is free after one observed ttl', async () => {
  const holder = await contender(place.machine)
  const held = await holder.win(0, TTL_MS)
  const clock = new ManualClock({ bootMs: 1_000 })
  const other = await contender(clock)
  assert.equal((await other.refused(held.generation)).remainingMs, TTL_MS)
  clock.advance(TTL_MS - 1)
  await other.refused(held.generation)
  clock.advance(1)
  await other.win(held.generation)
})

test('a suspended machine counts towards the expiry', async () => {
  const held = await (await contender(place.machine)).win(0, TTL_MS)
  place.machine.advanceSuspended(TTL_MS + STEP_MS)
  const taken = await (await contender(place.machine)).win(held.generation)
  assert.equal(taken.leaderlessMs, 0)
})

test('the wall clock decides nothing', async () => {
  const holder = await contender(place.machine)
  const held = await holder.win(0, TTL_MS)
  place.machine.stepWall(100 * TTL_MS)
  await (await contender(place.machine)).refused(held.generation)
  place.machine.stepWall(-200 * TTL_MS)
  assert.equal(await holder.renew(held, TTL_MS), 'granted')
})

test('a boot clock with fractions and steps never ends a lease before its ttl', async () => {
  for (const fraction of [0, 0.1, 0.5, 0.999]) {
    const machine = new ManualClock({ bootMs: 50_000 + fraction })
    const election = `fraction-${fraction}`
    const holder = new Contender(await place.open(machine), election, candidate())
    const other = new Contender(await place.open(machine.sibling()), election, candidate())
    const held = await holder.win(0, TTL_MS)
    machine.advance(TTL_MS)
    await other.refused(held.generation)
    machine.advance(STEP_MS + 1)
    await other.win(held.generation)
  }
})

test('nobody held a lease from its expiry on, however late it was released', async () => {
  const holder = await contender(place.machine)
  const held = await holder.win(0, TTL_MS)
  place.machine.advance(TTL_MS + STEP_MS + 4_000)
  assert.equal(await holder.release(held), 'released')
  place.machine.advance(1_000)
  const taken = await (await contender(place.machine)).win(held.generation)
  assert.equal(taken.leaderlessMs, 5_000)
})

test('a request that was held up beyond its time is not written', async () => {
  const clock = new ManualClock()
  let readings = 0
  const slow = Object.assign(Object.create(clock), {
    bootClockId: clock.bootClockId,
    now: () => {
      if (++readings > 1) clock.advanceFrozen(6_000)
      return clock.now()
    },
    uuid: () => clock.uuid(),
  })
  const store = await place.open(slow)
  readings = 0
  const attempt = { timeoutMs: 5_000, signal: new AbortController().signal }
  const result = await store.acquire('fleet', candidate(), { ttlMs: TTL_MS, above: 0 }, attempt)
  assert.deepEqual(result, { kind: 'contended' })
  assert.equal(await (await contender(place.machine)).current(), null)
})

test('generations that are used up are an error that says so, and nothing is written', async () => {
  const one = await contender(place.machine)
  await assert.rejects(one.acquire(2 ** 53 - 1), {
    name: 'StoreError',
    kind: 'misconfigured',
    message: /used up its generations/,
  })
  assert.equal(await one.current(), null)
})

test('the file is emptied of its journal, durable, and marked as ours', async () => {
  await (await contender(place.machine)).win(0, TTL_MS)
  const database = new DatabaseSync(place.path, { readOnly: true })
  assert.equal(database.prepare('PRAGMA user_version').get()?.user_version, 2)
  assert.equal(database.prepare('PRAGMA application_id').get()?.application_id, 0x546e7265)
  assert.notEqual(database.prepare('PRAGMA journal_mode').get()?.journal_mode, 'wal')
  database.close()
})
