import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, test } from 'node:test'
import type { TenureKey } from '../../src/election/tenure.ts'
import { guardSqlite } from '../../src/fencing/sqlite/strict.ts'
import { attempt, type Contender, candidate } from '../conformance/harness.ts'
import {
  add,
  application,
  closing,
  connect,
  contender,
  expire,
  notes,
  place,
  TTL_MS,
  tryTakeOver,
} from './fencing-sqlite-fixtures.ts'

const SQLITE_BUSY = 5
const SQLITE_READONLY_ROLLBACK = 776

for (const journalMode of ['wal', 'delete', 'truncate', 'persist']) {
  describe(`the strict guard on data in journal mode ${journalMode}`, () => {
    test('the holder writes; after the takeover its write is refused and names who stands', async () => {
      const data = application(journalMode)
      const a = await (await contender('a')).win(0, TTL_MS)
      assert.deepEqual(guardSqlite(data, place.path, a, add(data, 'one')), { ok: true, value: 1 })
      expire()
      const b = await (await contender('b')).win(a.generation, TTL_MS)
      assert.deepEqual(guardSqlite(data, place.path, a, add(data, 'two')), {
        ok: false,
        reason: 'stale',
        current: { generation: 2, holder: 'b' },
      })
      assert.equal(guardSqlite(data, place.path, b, add(data, 'three')).ok, true)
      assert.deepEqual(notes(data), ['one', 'three'])
    })

    test('a takeover waits for the guarded transaction, and then goes through', async () => {
      const data = application(journalMode)
      const a = await (await contender('a')).win(0, TTL_MS)
      const b = await contender('b')
      expire()
      let during: Promise<{ kind: string }> | undefined
      const written = guardSqlite(data, place.path, a, () => {
        add(data, 'before')()
        // The store's request is one synchronous call: it is over when this returns.
        during = tryTakeOver(b, a.generation)
        return add(data, 'after')()
      })
      assert.equal((await during)?.kind, 'contended')
      assert.equal(written.ok, true)
      assert.deepEqual(notes(data), ['before', 'after'])
      assert.equal((await tryTakeOver(b, a.generation)).kind, 'granted')
    })
  })
}

describe('the strict guard', () => {
  let data: DatabaseSync
  let a: Contender
  let held: TenureKey
  beforeEach(async () => {
    data = application()
    a = await contender('a')
    held = await a.win(0, TTL_MS)
  })

  test('refuses another generation, another session, another election and nothing at all', () => {
    const current = { generation: 1, holder: 'a' }
    const stale = (fence: object, standing: object | null = current): void =>
      assert.deepEqual(guardSqlite(data, place.path, { ...held, ...fence }, add(data, 'no')), {
        ok: false,
        reason: 'stale',
        current: standing,
      })
    stale({ generation: 0 })
    stale({ generation: 2 })
    stale({ session: candidate().session })
    stale({ generation: null })
    stale({ session: null })
    stale({ election: 'other' }, null)
    assert.deepEqual(notes(data), [])
  })

  test('refuses once the lease was released, and no session is as good as that', async () => {
    await a.release(held)
    const refused = guardSqlite(data, place.path, held, add(data, 'no'))
    assert.deepEqual(refused, { ok: false, reason: 'stale', current: { generation: 1, holder: null } })
    const nobody = { ...held, session: null as unknown as string }
    assert.equal(guardSqlite(data, place.path, nobody, add(data, 'no')).ok, false)
    assert.deepEqual(notes(data), [])
  })

  test('refuses the same session under its earlier generation', async () => {
    expire()
    const again = await a.win(held.generation, TTL_MS)
    assert.equal(guardSqlite(data, place.path, held, add(data, 'no')).ok, false)
    assert.equal(guardSqlite(data, place.path, again, add(data, 'yes')).ok, true)
    assert.deepEqual(notes(data), ['yes'])
  })

  test('refuses a lease that ran out by the clock it was written by, also before anybody takes it', () => {
    expire()
    assert.deepEqual(guardSqlite(data, place.path, held, add(data, 'late'), place.machine), {
      ok: false,
      reason: 'stale',
      current: { generation: held.generation, holder: null },
    })
  })

  test('by another clock it cannot tell: the holder writes until somebody takes over', () => {
    expire()
    assert.equal(guardSqlite(data, place.path, held, add(data, 'late')).ok, true)
  })

  test('a renewal and a release wait as a takeover does', async () => {
    const during: Promise<{ kind: string }>[] = []
    guardSqlite(data, place.path, held, () => {
      during.push(a.store.renew(held, TTL_MS, attempt()), a.store.release(held, attempt()))
    })
    assert.deepEqual(
      (await Promise.all(during)).map(({ kind }) => kind),
      ['contended', 'contended'],
    )
    assert.equal(await a.renew(held, TTL_MS), 'granted')
  })

  test('guarded transactions on other databases, and followers that ask, pass beside it', async () => {
    const other = connect(join(place.folder.path, 'other.db'))
    other.exec('CREATE TABLE note (text TEXT NOT NULL)')
    const b = await contender('b')
    let refused: Promise<{ kind: string }> | undefined
    const written = guardSqlite(data, place.path, held, () => {
      refused = tryTakeOver(b, held.generation)
      return guardSqlite(other, place.path, held, add(other, 'beside'))
    })
    assert.deepEqual(written, { ok: true, value: { ok: true, value: 1 } })
    assert.equal((await refused)?.kind, 'refused')
  })

  test('nobody else writes to the data from before the write begins', () => {
    const other = connect()
    const reading = (): void => {
      assert.deepEqual(notes(data), [])
      assert.throws(add(other, 'between'), /database is locked/)
      add(data, 'one')()
    }
    assert.equal(guardSqlite(data, place.path, held, reading).ok, true)
    assert.deepEqual(notes(data), ['one'])
  })

  test('what the write throws is thrown on, with nothing written and the lease let go', async () => {
    const failing = (): void => {
      add(data, 'no')()
      throw new RangeError('the application changed its mind')
    }
    assert.throws(() => guardSqlite(data, place.path, held, failing), /^RangeError: the application changed/)
    assert.deepEqual(notes(data), [])
    assert.equal(data.isTransaction, false)
    assert.equal(await a.renew(held, TTL_MS), 'granted')
    assert.equal(guardSqlite(data, place.path, held, add(data, 'yes')).ok, true)
  })

  test('a constraint that fails is an exception, with nothing written', () => {
    const failing = (): void => {
      add(data, 'no')()
      data.exec('INSERT INTO note VALUES (NULL)')
    }
    assert.throws(() => guardSqlite(data, place.path, held, failing), /NOT NULL/)
    assert.deepEqual(notes(data), [])
  })

  test('a write that returns a promise is rolled back and told', () => {
    const later = async (): Promise<void> => {
      add(data, 'no')()
    }
    assert.throws(() => guardSqlite(data, place.path, held, later), /returned a promise/)
    assert.deepEqual(notes(data), [])
  })

  test('a transaction that is open already is refused, and one that the write ended is told', () => {
    data.exec('BEGIN')
    assert.throws(() => guardSqlite(data, place.path, held, add(data, 'no')), /end the one that is open/)
    data.exec('ROLLBACK')
    assert.throws(
      () => guardSqlite(data, place.path, held, () => data.exec('ROLLBACK')),
      /leave COMMIT and ROLLBACK to the guard/,
    )
    const nested = (): unknown => guardSqlite(data, place.path, held, add(data, 'no'))
    assert.throws(() => guardSqlite(data, place.path, held, nested), /end the one that is open/)
    assert.deepEqual(notes(data), [])
  })

  test('an iterator that is left open keeps the lease, is told, and does not spoil the next guard', async () => {
    add(data, 'one')()
    add(data, 'two')()
    let iterator: Iterator<unknown> | undefined
    const leaving = (): void => {
      iterator = data.prepare('SELECT text FROM note').iterate()
      iterator.next()
    }
    assert.throws(() => guardSqlite(data, place.path, held, leaving), /finish every iterator/)
    assert.equal((await a.store.renew(held, TTL_MS, attempt())).kind, 'contended')
    while (iterator?.next().done === false);
    assert.equal(await a.renew(held, TTL_MS), 'granted')
    assert.equal(guardSqlite(data, place.path, held, add(data, 'three')).ok, true)
  })

  test("the application's own transactions, and its other attached databases, do not lock the lease", async () => {
    data.exec(`ATTACH '${join(place.folder.path, 'more.db')}' AS more; CREATE TABLE more.note (text TEXT)`)
    const both = (): void =>
      data.exec("INSERT INTO note VALUES ('one'); INSERT INTO more.note VALUES ('one')")
    assert.equal(guardSqlite(data, place.path, held, both).ok, true)
    data.exec('BEGIN IMMEDIATE')
    assert.equal((await a.store.renew(held, TTL_MS, attempt())).kind, 'granted')
    data.exec('COMMIT')
  })

  test('it cannot write to the lease, and minds no setting of the connection', () => {
    const meddle = (): void => data.exec('UPDATE tenure_guard.lease SET generation = 9')
    assert.throws(() => guardSqlite(data, place.path, held, meddle), /readonly/)
    const path = join(place.folder.path, 'data.db')
    const odd = closing(new DatabaseSync(path, { readBigInts: true, returnArrays: true }))
    odd.exec('PRAGMA locking_mode = EXCLUSIVE')
    data.close()
    assert.equal(guardSqlite(odd, place.path, held, add(odd, 'one')).ok, true)
    const stale = guardSqlite(odd, place.path, { ...held, generation: 7 }, add(odd, 'no'))
    assert.deepEqual(stale, { ok: false, reason: 'stale', current: { generation: 1, holder: 'a' } })
  })

  test('a lock that is held for longer than the timeout is an exception of SQLite, with nothing written', () => {
    const busy = ({ errcode }: { errcode?: number }): boolean => errcode === SQLITE_BUSY
    const other = connect()
    other.exec('BEGIN IMMEDIATE')
    assert.throws(() => guardSqlite(data, place.path, held, add(data, 'no')), busy)
    other.exec('ROLLBACK')
    const tenure = connect(place.path)
    tenure.exec('BEGIN EXCLUSIVE')
    assert.throws(() => guardSqlite(data, place.path, held, add(data, 'no')), busy)
    tenure.exec('ROLLBACK')
    assert.deepEqual(notes(data), [])
    assert.equal(guardSqlite(data, place.path, held, add(data, 'yes')).ok, true)
  })

  test('a commit that a reader is in the way of is an exception, with nothing written', () => {
    data.exec('PRAGMA journal_mode = DELETE')
    const reader = connect()
    reader.exec('BEGIN; SELECT * FROM note')
    assert.throws(() => guardSqlite(data, place.path, held, add(data, 'no')), /database is locked/)
    reader.exec('ROLLBACK')
    assert.deepEqual(notes(data), [])
  })

  test('a file that a killed process left in the middle of a commit is no yes until somebody mends it', () => {
    const writer = connect(place.path)
    writer.exec('PRAGMA cache_size = 1; BEGIN IMMEDIATE; CREATE TABLE filler (text TEXT)')
    writer.exec("UPDATE lease SET session = 'half', generation = 9")
    const fill = writer.prepare('INSERT INTO filler VALUES (?)')
    for (let i = 0; i < 50; i++) fill.run('x'.repeat(3_000))
    const torn = join(place.folder.path, 'torn.db')
    copyFileSync(place.path, torn)
    writeFileSync(`${torn}-journal`, readFileSync(`${place.path}-journal`))
    writer.exec('ROLLBACK')
    const half = { ...held, generation: 9, session: 'half' }
    const isTorn = ({ errcode }: { errcode?: number }): boolean => errcode === SQLITE_READONLY_ROLLBACK
    assert.throws(() => guardSqlite(data, torn, half, add(data, 'no')), isTorn)
    connect(torn).exec('SELECT * FROM lease')
    assert.equal(guardSqlite(data, torn, half, add(data, 'no')).ok, false)
    assert.equal(guardSqlite(data, torn, held, add(data, 'yes')).ok, true)
    assert.deepEqual(notes(data), ['yes'])
  })
})
