/** Where the lease is, and what happens to the file while a write is under way. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { guardSqlite } from '../../src/fencing/sqlite/strict.ts'
import { attempt, candidate } from '../conformance/harness.ts'
import { until } from '../support/sidecar.ts'
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

/** A connection that does something before one of the guard's calls: the only moments that it lets others have. */
class MeddledDatabase extends DatabaseSync {
  calls = 0
  meddleAt = 0
  meddle: () => void = () => undefined

  override exec(sql: string): void {
    this.#called()
    super.exec(sql)
  }

  override prepare(sql: string): StatementSync {
    this.#called()
    return super.prepare(sql)
  }

  #called(): void {
    if (++this.calls === this.meddleAt) this.meddle()
  }
}

test('at whatever moment a takeover is tried, it is granted or the write is committed, never both', async () => {
  const data = closing(new MeddledDatabase(join(place.folder.path, 'data.db')))
  data.exec('CREATE TABLE note (text TEXT NOT NULL)')
  const a = await contender('a')
  const b = await contender('b')
  const outcomes = new Set<string>()
  let above = 0
  let calls = 1
  for (let at = 0; at <= calls; at++) {
    const held = await a.win(above, TTL_MS)
    expire()
    let taken: Promise<{ kind: string }> | undefined
    data.meddle = () => {
      taken = tryTakeOver(b, held.generation)
    }
    Object.assign(data, { calls: 0, meddleAt: at })
    const { ok } = guardSqlite(data, place.path, held, add(data, `at ${at}`))
    calls = Math.max(calls, data.calls)
    // The last call lets the lease go: whoever comes then comes after the commit.
    const kind = (await taken)?.kind ?? 'none'
    if (at > 0 && at < calls) assert.equal(kind, ok ? 'contended' : 'granted', `before call ${at}`)
    outcomes.add(kind)
    above = held.generation + (kind === 'granted' ? 1 : 0)
    expire()
  }
  assert.deepEqual([...outcomes].toSorted(), ['contended', 'granted', 'none'])
  assert.ok(calls > 5, `${calls} calls`)
})

test('the guard in plain SQL, as docs/fencing-sqlite.md has it, holds as well', async () => {
  const data = application()
  const a = await contender('a')
  const b = await contender('b')
  const held = await a.win(0, TTL_MS)
  const begin = (): boolean => {
    data.exec(`ATTACH 'file:${place.path}?mode=ro' AS tenure`)
    data.exec('BEGIN IMMEDIATE')
    const row = data
      .prepare('SELECT 1 FROM tenure.lease WHERE election = ? AND session = ? AND generation = ?')
      .get(held.election, held.session, held.generation)
    return row !== undefined
  }
  assert.equal(begin(), true)
  expire()
  assert.equal((await tryTakeOver(b, held.generation)).kind, 'contended')
  add(data, 'one')()
  data.exec('COMMIT; DETACH tenure')
  assert.equal((await tryTakeOver(b, held.generation)).kind, 'granted')
  assert.equal(begin(), false)
  data.exec('ROLLBACK; DETACH tenure')
})

describe('the strict guard and the place of the lease', () => {
  test('data in the same file as the lease are guarded by its one lock', async () => {
    const a = await contender('a')
    const held = await a.win(0, TTL_MS)
    const data = connect(place.path)
    data.exec('CREATE TABLE note (text TEXT NOT NULL)')
    let during: Promise<{ kind: string }> | undefined
    const written = guardSqlite(data, place.path, held, () => {
      during = a.store.renew(held, TTL_MS, attempt())
      return add(data, 'one')()
    })
    assert.deepEqual(written, { ok: true, value: 1 })
    assert.equal((await during)?.kind, 'contended')
    expire()
    await (await contender('b')).win(held.generation, TTL_MS)
    assert.equal(guardSqlite(data, place.path, held, add(data, 'two')).ok, false)
    assert.deepEqual(notes(data), ['one'])
  })

  test('data in memory are guarded too', async () => {
    const held = await (await contender('a')).win(0, TTL_MS)
    const data = connect(':memory:')
    data.exec('CREATE TABLE note (text TEXT NOT NULL)')
    assert.equal(guardSqlite(data, place.path, held, add(data, 'one')).ok, true)
  })

  test('a path with every awkward character is found', async () => {
    const held = await (await contender('a')).win(0, TTL_MS)
    const path = join(place.folder.path, "it's 100% ? #1 ü & more.db")
    renameSync(place.path, path)
    const data = application()
    assert.equal(guardSqlite(data, path, held, add(data, 'one')).ok, true)
  })

  test('a path that leads nowhere, or to another database, is told, and nothing is made there', async () => {
    const data = application()
    const held = { election: 'fleet', session: candidate().session, generation: 1 }
    const none = join(place.folder.path, 'none.db')
    assert.throws(
      () => guardSqlite(data, none, held, add(data, 'no')),
      /none\.db cannot be opened: .*--store/,
    )
    assert.throws(() => readFileSync(none), /ENOENT/)
    connect(join(place.folder.path, 'other.db')).exec('CREATE TABLE x (y)')
    assert.throws(
      () => guardSqlite(data, join(place.folder.path, 'other.db'), held, add(data, 'no')),
      /other\.db holds no leases: .*--store/,
    )
    assert.deepEqual(notes(data), [])
  })

  test('a file that was put in the stead of the lease is what counts from then on', async () => {
    const data = application()
    const held = await (await contender('a')).win(0, TTL_MS)
    assert.equal(guardSqlite(data, place.path, held, add(data, 'one')).ok, true)
    const other = join(place.folder.path, 'other.db')
    const b = await (await contender('b', other)).win(6, TTL_MS)
    renameSync(other, place.path)
    assert.deepEqual(guardSqlite(data, place.path, held, add(data, 'no')), {
      ok: false,
      reason: 'stale',
      current: { generation: 7, holder: 'b' },
    })
    assert.equal(guardSqlite(data, place.path, b, add(data, 'two')).ok, true)
    assert.deepEqual(notes(data), ['one', 'two'])
  })

  test('a file that is replaced or removed while the write runs is stale, though its copy names the same', async () => {
    const data = application()
    const held = await (await contender('a')).win(0, TTL_MS)
    const copy = join(place.folder.path, 'copy.db')
    const stale = { ok: false, reason: 'stale', current: null }
    const during = (act: () => void) => (): void => {
      add(data, 'no')()
      act()
    }
    copyFileSync(place.path, copy)
    const replaced = guardSqlite(
      data,
      place.path,
      held,
      during(() => renameSync(copy, place.path)),
    )
    assert.deepEqual(replaced, stale)
    const removed = guardSqlite(
      data,
      place.path,
      held,
      during(() => rmSync(place.path)),
    )
    assert.deepEqual(removed, stale)
    assert.deepEqual(notes(data), [])
  })
})

test('a lease file that a foreign hand put into WAL mode is refused: there, readers keep nobody from committing', async () => {
  const data = application()
  const a = await contender('a')
  const held = await a.win(0, TTL_MS)
  const foreign = connect(place.path)
  // Whoever else has the file open comes in between for a moment.
  await until('the mode is changed', () => {
    try {
      return foreign.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode === 'wal' ? true : null
    } catch {
      return null
    }
  })
  assert.throws(() => guardSqlite(data, place.path, held, add(data, 'no')), /journal mode WAL.*set it back/)
  assert.deepEqual(notes(data), [])
  foreign.exec('PRAGMA journal_mode = TRUNCATE')
  assert.equal(guardSqlite(data, place.path, held, add(data, 'yes')).ok, true)
})
