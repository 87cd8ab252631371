/** What a work table does without a database: its options, what it makes of errors, and the journal. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { type Claimed, type Database, type JournalEntry, WorkTable } from '../../src/work/index.ts'
import type { WorkTableOptions } from '../../src/work/options.ts'

const OPTIONS: WorkTableOptions = { table: 'jobs', key: 'id', leaseMs: 100, lifeMs: 200 }

const item = (n: number): Claimed => ({ key: `${n}`, token: `token-${n}` })

/** A database that answers each statement by the tokens it is about. */
function database(answer: (tokens: readonly string[]) => unknown): Database & { readonly asked: string[][] } {
  const asked: string[][] = []
  return {
    asked,
    query: async (_, values) => {
      const tokens = values[1] as string[]
      asked.push(tokens)
      return { rows: [{ results: JSON.stringify(answer(tokens)) }] }
    },
  }
}

const allApplied = (tokens: readonly string[]) => tokens.map(() => ['applied', 0])

/** As `pg` throws them. */
function sqlError(code: string): Error {
  return Object.assign(new Error(`SQLSTATE ${code}`), { code })
}

describe('the options', () => {
  it('that cannot work are TypeErrors which name the option and the rule', () => {
    const cases: readonly (readonly [object, RegExp])[] = [
      [{ table: 'a.b.c' }, /^table "a\.b\.c"/],
      [{ key: '' }, /^name ""/],
      [{ key: 'x'.repeat(64) }, /1 to 63 bytes/],
      [{ leaseMs: 0 }, /^leaseMs 0: it is a whole number from 1/],
      [{ leaseMs: 1.5 }, /^leaseMs 1\.5/],
      [{ lifeMs: Number.POSITIVE_INFINITY }, /^lifeMs Infinity/],
      [{ lifeMs: undefined }, /^lifeMs undefined/],
      [{ leaseMs: 201 }, /never longer than the total life; raise lifeMs/],
      [{ lockTimeoutMs: 0 }, /^lockTimeoutMs 0/],
      [{ columns: [] }, /^columns: an empty list/],
      [{ columns: [''] }, /^name ""/],
      [{ due: 'due_at < now()' }, /^due: it is a piece of SQL; write it with the tag/],
      [{ orderBy: 'due_at' }, /^orderBy: it is a piece of SQL/],
    ]
    for (const [wrong, message] of cases) {
      assert.throws(() => new WorkTable({ ...OPTIONS, ...wrong }), { name: 'TypeError', message })
    }
  })

  it('leave a claim its limit, which is a whole number', async () => {
    const work = new WorkTable(OPTIONS)
    const db = database(allApplied)
    for (const limit of [0, -1, 1.5, Number.NaN, 10_001]) {
      await assert.rejects(work.claim(db, { limit }), { name: 'TypeError', message: /^limit / })
    }
    assert.deepEqual(db.asked, [])
  })
})

describe('an error', () => {
  it('of contention is a value, for a claim an empty one', async () => {
    const work = new WorkTable(OPTIONS)
    for (const code of ['40001', '40P01', '55P03']) {
      const db = database(() => {
        throw sqlError(code)
      })
      assert.equal((await work.apply(db, item(1))).result, 'contended')
      const failing: Database = {
        query: (text) =>
          text === 'SELECT 1' ? Promise.resolve({ rows: [] }) : Promise.reject(sqlError(code)),
      }
      assert.deepEqual(await work.claim(failing, { limit: 1 }), [])
    }
  })

  it('of contention that ended a transaction of the caller is thrown by a claim', async () => {
    const work = new WorkTable(OPTIONS)
    const failing: Database = {
      query: (text) => Promise.reject(sqlError(text === 'SELECT 1' ? '25P02' : '40001')),
    }
    await assert.rejects(work.claim(failing, { limit: 1 }), /40001/)
    const idle = { ...failing, getTransactionStatus: () => 'I' }
    assert.deepEqual(await work.claim(idle, { limit: 1 }), [], 'there was none: nothing is asked')
  })

  it('of the store is thrown, and a batch is not tried again row by row', async () => {
    const work = new WorkTable(OPTIONS)
    for (const error of [
      sqlError('57P01'),
      ...['08006', '25006', '28P01', '3D000', '40003', '53300', '58030', 'XX000'].map(sqlError),
      sqlError('ECONNRESET'),
      sqlError('EPIPE'),
      new Error('x'),
    ]) {
      const db = database(() => {
        throw error
      })
      await assert.rejects(work.complete(db, [item(1), item(2)]), error)
      await assert.rejects(work.claim({ query: () => Promise.reject(error) }, { limit: 1 }), error)
      assert.equal(db.asked.length, 1)
    }
  })

  it('of one row costs the others of its batch nothing, whatever its state', async () => {
    const work = new WorkTable(OPTIONS)
    for (const code of ['23514', '22003', 'P0001', '42501', '44000', 'TN001', '54000', '21000']) {
      const db = database((tokens) => {
        if (tokens.includes('token-2')) throw sqlError(code)
        return allApplied(tokens)
      })
      const outcomes = await work.complete(db, [item(1), item(2), item(3)])
      assert.deepEqual(
        outcomes.map(({ result, error }) => [result, error?.message]),
        [
          ['applied', undefined],
          ['fault', `SQLSTATE ${code}`],
          ['applied', undefined],
        ],
      )
      await assert.rejects(work.complete(db, item(2)), { code })
    }
  })

  it('that comes over no rows at all is of the statement: it is thrown, and no row is tried', async () => {
    const work = new WorkTable(OPTIONS)
    for (const code of ['42P01', '42703', '42601', '42501']) {
      const db = database(() => {
        throw sqlError(code)
      })
      await assert.rejects(work.complete(db, [item(1), item(2)]), { code })
      assert.deepEqual(db.asked, [['token-1', 'token-2'], []])
    }
  })

  it('of the store that comes while a batch goes row by row leaves the outcomes of the rows before', async () => {
    const work = new WorkTable(OPTIONS)
    const db = database((tokens) => {
      if (tokens.length > 1) throw sqlError('55P03')
      if (tokens[0] !== 'token-1') throw new Error('the connection broke')
      return allApplied(tokens)
    })
    const outcomes = await work.complete(db, [item(1), item(2)])
    assert.deepEqual(
      outcomes.map(({ result }) => result),
      ['applied', 'fault'],
    )
  })

  it('in a transaction of the caller is told as the first one, which ended it', async () => {
    const work = new WorkTable(OPTIONS)
    const db = database((tokens) => {
      throw sqlError(tokens.length > 1 ? '23514' : '25P02')
    })
    await assert.rejects(work.complete(db, [item(1), item(2)]), /23514/)
  })
})

describe('the journal', () => {
  it('hears of every item with its token, also of one that is refused', async () => {
    const entries: JournalEntry[] = []
    const work = new WorkTable({ ...OPTIONS, table: 'app.jobs', journal: (entry) => entries.push(entry) })
    const db = database((tokens) => tokens.map((token) => [token === 'token-1' ? 'applied' : 'lost', 5]))
    const [first, second] = await work.extend(db, [item(1), item(2)])
    assert.deepEqual([first?.leaseLeftMs, second?.leaseLeftMs], [5, 5])
    assert.equal((await work.fail(db, item(1))).leaseLeftMs, null)
    assert.deepEqual(entries, [
      { op: 'extend', table: 'app.jobs', key: '1', token: 'token-1', result: 'applied' },
      { op: 'extend', table: 'app.jobs', key: '2', token: 'token-2', result: 'lost' },
      { op: 'fail', table: 'app.jobs', key: '1', token: 'token-1', result: 'applied' },
    ])
  })

  it('that throws does not keep an outcome from its caller, and is heard of', async () => {
    const journal = () => {
      throw new Error('the disk is full')
    }
    const warned = once(process, 'warning')
    assert.equal(
      (await new WorkTable({ ...OPTIONS, journal }).complete(database(allApplied), item(1))).applied,
      true,
    )
    assert.match(String((await warned)[0]), /the disk is full/)
  })

  it('that rejects later is heard of as well, and ends no process', async () => {
    const journal = async () => {
      throw new Error('the log is full')
    }
    const warned = once(process, 'warning')
    await new WorkTable({ ...OPTIONS, journal }).complete(database(allApplied), item(1))
    assert.match(String((await warned)[0]), /the log is full/)
  })
})

it('an item that stands twice in a batch is asked for once and answered twice', async () => {
  const db = database(allApplied)
  const outcomes = await new WorkTable(OPTIONS).complete(db, [item(1), item(1), item(2)])
  assert.deepEqual(db.asked, [['token-1', 'token-2']])
  assert.equal(outcomes.length, 3)
})

describe('a long list', () => {
  const list = Array.from({ length: 1_201 }, (_, n) => item(n))

  it('goes in statements of 500 items, with the outcomes in its order', async () => {
    const db = database(allApplied)
    const outcomes = await new WorkTable(OPTIONS).complete(db, list)
    assert.deepEqual(
      db.asked.map(({ length }) => length),
      [500, 500, 201],
    )
    assert.deepEqual(
      outcomes.map(({ item }) => item),
      list,
    )
  })

  it('whose last statement ended a transaction of the caller throws what ended it', async () => {
    let aborted = false
    const db = database((tokens) => {
      if (aborted) throw sqlError('25P02')
      aborted = tokens.length < 500
      if (aborted) throw sqlError('40001')
      return allApplied(tokens)
    })
    await assert.rejects(new WorkTable(OPTIONS).complete(db, list.slice(0, 501)), { code: '40001' })
  })

  it('keeps the outcomes of what was written before the store failed, and goes no further', async () => {
    const db = database((tokens) => {
      if (tokens.includes('token-500')) throw new Error('the connection broke')
      return allApplied(tokens)
    })
    const outcomes = await new WorkTable(OPTIONS).complete(db, list)
    assert.equal(db.asked.length, 2)
    assert.deepEqual(
      outcomes.map(({ result }) => result),
      list.map((_, n) => (n < 500 ? 'applied' : 'fault')),
    )
  })
})
