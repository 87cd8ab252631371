import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ManualClock } from '../support/clock.ts'
import {
  attempt,
  failsWith,
  newCandidate,
  newElection,
  PostgresBench,
  timed,
  until,
  win,
} from '../support/postgres-bench.ts'

/** For how long another transaction holds the row. */
const LOCK_MS = 3_000

const bench = await PostgresBench.start({ settings: { autovacuum: 'off' } })

/** Holds the row from now on, until the returned function is called. */
async function lockRow(election: string, statement: string): Promise<() => Promise<void>> {
  const blocker = await bench.session()
  await blocker.query('BEGIN')
  await blocker.query(statement, [election])
  return async () => {
    await blocker.query('COMMIT')
  }
}

const JUST_LOCK = 'SELECT 1 FROM tenure.lease WHERE election = $1 FOR UPDATE'
const MODIFY = `UPDATE tenure.lease SET holder = holder || ' (touched)' WHERE election = $1`

async function renewBehindLock(statement: string, ttlMs: number): Promise<{ kind: string; leftMs: number }> {
  const store = await bench.open()
  const tenure = await win(store, newElection(), newCandidate(), { ttlMs })
  const unlock = await lockRow(tenure.election, statement)
  const renewal = store.renew(tenure, ttlMs, attempt(LOCK_MS * 2))
  await sleep(LOCK_MS)
  await unlock()
  const { kind } = await renewal
  return { kind, leftMs: await bench.leftMs(tenure.election) }
}

describe('a row locked by another transaction for 3 s', () => {
  it('shortens no renewed lease, and fools no renewal of one that ran out meanwhile', async () => {
    const [locked, modified, late, lateModified] = await Promise.all([
      renewBehindLock(JUST_LOCK, 10_000),
      renewBehindLock(MODIFY, 10_000),
      renewBehindLock(JUST_LOCK, 1_500),
      renewBehindLock(MODIFY, 1_500),
    ])
    for (const renewed of [locked, modified]) {
      assert.equal(renewed.kind, 'granted')
      assert.ok(renewed.leftMs > 9_000, `${renewed.leftMs} ms are left of 10 s`)
    }
    for (const renewed of [late, lateModified]) {
      assert.equal(renewed.kind, 'lost')
      assert.ok(renewed.leftMs < 0)
    }
  })

  it('makes an acquire contended at once, and a renewal contended when its time is over', async () => {
    const store = await bench.open()
    const free = newElection()
    const tenure = await win(store, free, newCandidate())
    await store.release(tenure, attempt())
    const held = await win(store, newElection(), newCandidate())
    const unlock = [await lockRow(free, JUST_LOCK), await lockRow(held.election, JUST_LOCK)]
    const acquire = await timed(() =>
      store.acquire(free, newCandidate(), { ttlMs: 10_000, above: tenure.generation }, attempt()),
    )
    assert.equal(acquire.result.kind, 'contended')
    assert.ok(acquire.tookMs < 1_000, `${acquire.tookMs} ms`)
    const patient = { timeoutMs: 300, signal: new AbortController().signal }
    const clock = new ManualClock()
    assert.equal((await (await bench.open({ clock })).renew(held, 10_000, patient)).kind, 'contended')
    for (const one of unlock) await one()
    assert.equal((await store.renew(held, 10_000, attempt())).kind, 'granted')
  })

  it('does not delay another election of the same store', async () => {
    const store = await bench.open()
    const stuck = await win(store, newElection(), newCandidate())
    const other = await win(store, newElection(), newCandidate())
    const unlock = await lockRow(stuck.election, JUST_LOCK)
    const renewal = store.renew(stuck, 10_000, attempt())
    await until('the renewal waits', async () => (await waiting()).length > 0)
    const { result, tookMs } = await timed(() => store.renew(other, 10_000, attempt()))
    assert.equal(result.kind, 'granted')
    assert.ok(tookMs < 1_000, `${tookMs} ms`)
    await unlock()
    assert.equal((await renewal).kind, 'granted')
  })
})

/** The server processes whose statements for stores wait for a lock. */
async function waiting(): Promise<readonly number[]> {
  const rows = await bench.sql<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'tenure' AND wait_event_type = 'Lock'`,
  )
  return rows.map(({ pid }) => pid)
}

describe('a statement that was stuck behind a lock on the table for longer than its attempt', () => {
  it('commits nothing although its client has long gone', async () => {
    const store = await bench.open()
    const election = newElection()
    const tenure = await win(store, election, newCandidate())
    const expired = await win(store, newElection(), newCandidate(), { ttlMs: 1 })
    const before = [await bench.row(election), await bench.row(expired.election)]
    const blocker = await bench.session()
    await blocker.query('BEGIN; LOCK TABLE tenure.lease IN ACCESS EXCLUSIVE MODE')
    const above = expired.generation
    const requests = [
      failsWith(store.renew(tenure, 60_000, attempt(300)), 'unavailable'),
      failsWith(
        store.acquire(expired.election, newCandidate(), { ttlMs: 60_000, above }, attempt(300)),
        'unavailable',
      ),
    ]
    await Promise.all(requests)
    const stuck = await waiting()
    assert.equal(stuck.length, 2, 'the server still works on what was given up')
    // Longer than the attempt, with something to spare.
    await sleep(100)
    await blocker.query('COMMIT')
    await until('the server has done with it', async () => {
      const alive = new Set(await bench.backends())
      return !stuck.some((pid) => alive.has(pid))
    })
    assert.deepEqual([await bench.row(election), await bench.row(expired.election)], before)
  })

  it('says contended when its client is still there', async () => {
    // The clock of the store stands still, so that it does not give up by itself.
    const store = await bench.open({ clock: new ManualClock() })
    const tenure = await win(store, newElection(), newCandidate())
    const before = await bench.row(tenure.election)
    const blocker = await bench.session()
    await blocker.query('BEGIN; LOCK TABLE tenure.lease IN ACCESS EXCLUSIVE MODE')
    const patient = { timeoutMs: 300, signal: new AbortController().signal }
    const renewal = store.renew(tenure, 60_000, patient)
    await until('the renewal waits', async () => (await waiting()).length === 1)
    await sleep(300)
    await blocker.query('COMMIT')
    // Either the lock timeout was noticed, or the statement came too late to write.
    assert.equal((await renewal).kind, 'contended')
    assert.equal(await bench.row(tenure.election), before)
  })
})

it('an acquire that was given up and executes late deposes nobody, not even its own session', async () => {
  const store = await bench.open()
  const election = newElection()
  const who = newCandidate()
  const first = await win(store, election, who)
  assert.equal((await store.release(first, attempt())).kind, 'released')
  const [backend] = (await bench.backends()).slice(-1)
  assert.ok(backend !== undefined)
  process.kill(backend, 'SIGSTOP')
  const options = { ttlMs: 60_000, above: first.generation }
  await failsWith(store.acquire(election, who, options, attempt(300)), 'unavailable')
  const second = await win(store, election, who, options)
  const before = await bench.row(election)
  process.kill(backend, 'SIGCONT')
  await until('the frozen process is done', async () => !(await bench.backends()).includes(backend))
  assert.equal(await bench.row(election), before)
  assert.equal((await store.renew(second, 10_000, attempt())).kind, 'granted')
})

it('attempts that are refused, and views, spend no transaction id', async () => {
  const holder = await bench.open()
  const follower = await bench.open()
  const { election, generation } = await win(holder, newElection(), newCandidate(), { ttlMs: 60_000 })
  const nextId = async () => {
    const [row] = await bench.sql<{ id: string }>(
      'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id',
    )
    return row?.id
  }
  const before = await nextId()
  for (let i = 0; i < 20; i++) {
    const options = { ttlMs: 60_000, above: generation }
    const result = await follower.acquire(election, newCandidate(), options, attempt())
    assert.equal(result.kind, 'refused')
    await follower.current(election, attempt())
  }
  assert.equal(await nextId(), before)
})
