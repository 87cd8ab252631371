import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { guardSqliteHighWater, SQLITE_HIGH_WATER_TABLE } from '../../src/fencing/sqlite/high-water.ts'
import { type TempFolder, tempFolder } from '../support/temp.ts'

let folder: TempFolder
let data: DatabaseSync
beforeEach(() => {
  folder = tempFolder()
  data = new DatabaseSync(join(folder.path, 'data.db'))
  data.exec(`${SQLITE_HIGH_WATER_TABLE}; CREATE TABLE note (text TEXT NOT NULL)`)
})
afterEach(() => {
  data.close()
  folder.remove()
})

const fence = (generation: number, session = `s${generation}`) => ({ election: 'fleet', session, generation })
const add = (text: string) => (): number =>
  Number(data.prepare('INSERT INTO note VALUES (?)').run(text).changes)
const notes = (): readonly unknown[] =>
  data
    .prepare('SELECT text FROM note')
    .all()
    .map((row) => row.text)
const staleAt = (generation: number) => ({
  ok: false,
  reason: 'stale',
  current: { generation, holder: null },
})

describe('the high-water guard', () => {
  test('lets a tenure write again and again, a later one too, and the earlier one no more', () => {
    assert.deepEqual(guardSqliteHighWater(data, 'pump', fence(3), add('one')), { ok: true, value: 1 })
    assert.deepEqual(guardSqliteHighWater(data, 'pump', fence(3), add('two')), { ok: true, value: 1 })
    assert.deepEqual(guardSqliteHighWater(data, 'pump', fence(5), add('three')), { ok: true, value: 1 })
    assert.deepEqual(guardSqliteHighWater(data, 'pump', fence(3), add('no')), staleAt(5))
    assert.deepEqual(notes(), ['one', 'two', 'three'])
  })

  test('an equal generation of another session is refused: a store that forgot may grant it twice', () => {
    guardSqliteHighWater(data, 'pump', fence(3, 'first'), add('one'))
    assert.deepEqual(guardSqliteHighWater(data, 'pump', fence(3, 'second'), add('no')), staleAt(3))
    assert.equal(guardSqliteHighWater(data, 'pump', fence(3, 'first'), add('two')).ok, true)
    assert.equal(guardSqliteHighWater(data, 'pump', fence(4, 'second'), add('three')).ok, true)
    assert.deepEqual(notes(), ['one', 'two', 'three'])
  })

  test('each resource has a mark of its own', () => {
    guardSqliteHighWater(data, 'pump', fence(9), add('one'))
    assert.equal(guardSqliteHighWater(data, 'valve', fence(3), add('two')).ok, true)
  })

  test('a write that throws raises nothing', () => {
    const failing = (): never => {
      add('no')()
      throw new RangeError('the application changed its mind')
    }
    assert.throws(() => guardSqliteHighWater(data, 'pump', fence(9), failing), RangeError)
    assert.equal(guardSqliteHighWater(data, 'pump', fence(3), add('one')).ok, true)
    assert.deepEqual(notes(), ['one'])
  })

  test('a promise, an open transaction and one that the write ended are told', () => {
    const guarded = (write: () => unknown) => () => guardSqliteHighWater(data, 'pump', fence(3), write)
    assert.throws(
      guarded(async () => add('no')()),
      /returned a promise/,
    )
    assert.throws(
      guarded(() => data.exec('ROLLBACK')),
      /leave COMMIT and ROLLBACK to the guard/,
    )
    data.exec('BEGIN')
    assert.throws(guarded(add('no')), /end the one that is open/)
    data.exec('ROLLBACK')
    assert.deepEqual(notes(), [])
  })

  test('no generation, and a table that is missing, are exceptions, with nothing written', () => {
    const none = { ...fence(1), generation: null as unknown as number }
    assert.throws(() => guardSqliteHighWater(data, 'pump', none, add('no')), /NOT NULL/)
    assert.throws(() => guardSqliteHighWater(data, 'pump', fence(0), add('no')), /CHECK/)
    data.exec('DROP TABLE tenure_high_water')
    assert.throws(() => guardSqliteHighWater(data, 'pump', fence(3), add('no')), /no such table/)
    assert.deepEqual(notes(), [])
  })

  test('the largest generation is kept exactly', () => {
    const largest = Number.MAX_SAFE_INTEGER
    guardSqliteHighWater(data, 'pump', fence(largest), add('one'))
    assert.deepEqual(guardSqliteHighWater(data, 'pump', fence(largest - 1), add('no')), staleAt(largest))
  })

  test('whatever is tried in whatever order, what was written never goes back', () => {
    const attempts = fc.array(fc.record({ generation: fc.integer({ min: 1, max: 5 }), session: fc.nat(2) }))
    fc.assert(
      fc.property(attempts, (tried) => {
        data.exec('DELETE FROM tenure_high_water')
        let mark = { generation: 0, session: -1 }
        for (const one of tried) {
          const mayWrite =
            one.generation > mark.generation ||
            (one.generation === mark.generation && one.session === mark.session)
          const { ok } = guardSqliteHighWater(data, 'pump', fence(one.generation, `s${one.session}`), () => 0)
          assert.equal(ok, mayWrite)
          if (ok) mark = one
        }
      }),
    )
  })
})

describe('the inline predicate, as docs/fencing-sqlite.md has it', () => {
  const UPDATE = 'UPDATE pump SET speed = ?, fence = $generation WHERE id = ? AND fence <= $generation'
  let changes: (id: number, generation: number, speed: number) => number
  const speeds = (): readonly unknown[] =>
    data
      .prepare('SELECT speed FROM pump ORDER BY id')
      .all()
      .map((row) => row.speed)
  beforeEach(() => {
    data.exec(
      'CREATE TABLE pump (id INTEGER PRIMARY KEY, speed INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0)',
    )
    data.exec('INSERT INTO pump (id, speed) VALUES (1, 0), (2, 0)')
    const update = data.prepare(UPDATE)
    changes = (id, generation, speed) => Number(update.run({ $generation: generation }, speed, id).changes)
  })

  test('a row that a later generation has written takes no earlier one', () => {
    assert.equal(changes(1, 3, 30), 1)
    assert.equal(changes(1, 3, 31), 1)
    assert.equal(changes(1, 4, 40), 1)
    assert.equal(changes(1, 3, 32), 0)
    assert.deepEqual(speeds(), [40, 0])
  })

  test('it protects that row, and no other', () => {
    changes(1, 4, 40)
    assert.equal(changes(2, 3, 30), 1)
  })
})
