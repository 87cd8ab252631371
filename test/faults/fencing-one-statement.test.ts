/** The one-statement form as docs/fencing.md writes it, in plain SQL; and the form that it warns of. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { FencingBench, type Led } from '../support/fencing-bench.ts'
import { until } from '../support/postgres-bench.ts'

const [, DOCUMENTED = ''] =
  /```sql\n(WITH g AS MATERIALIZED[^`]*)```/.exec(readFileSync('docs/fencing.md', 'utf8')) ?? []
const INSERT = `WITH g AS MATERIALIZED (SELECT tenure.try_guard($1, $2, $3) AS ok)
  INSERT INTO jobs SELECT $4::integer, 'new' WHERE (SELECT ok FROM g)
  ON CONFLICT (id) DO UPDATE SET note = excluded.note`
/** Judged by the snapshot from before the statement waited for the row. */
const UNSAFE = `DELETE FROM jobs WHERE id = $4 AND EXISTS (
  SELECT FROM tenure.lease WHERE election = $1 AND session = $2::uuid AND generation = $3)`

const bench = await FencingBench.start()
let led: Led
beforeEach(async () => {
  led = await bench.lead()
  await bench.postgres.sql(`DROP TABLE IF EXISTS jobs; CREATE TABLE jobs (id integer PRIMARY KEY, note text);
    INSERT INTO jobs VALUES (1, 'old'), (2, 'old'); GRANT ALL ON jobs TO tenure_application`)
})
afterEach(() => bench.closeAll())

const content = () => bench.postgres.sql('SELECT * FROM jobs ORDER BY id')

for (const [what, sql, id] of [
  ['the documented DELETE', DOCUMENTED, 1],
  ['an INSERT', INSERT, 3],
  ['an upsert', INSERT, 1],
] as const) {
  it(`${what} writes for the present tenure, and nothing for one that is over`, async () => {
    const application = await bench.connect()
    const before = await content()
    assert.equal((await application.query(sql, [...led.key, id])).rowCount, 1)
    const after = await content()
    assert.notDeepEqual(after, before)
    await led.deposed()
    assert.equal((await application.query(sql, [...led.key, 2])).rowCount, 0)
    assert.deepEqual(await content(), after)
  })
}

describe('a statement that waits for a row while hands change', () => {
  /** Somebody holds the row; the old leader's statement waits for it, with its snapshot taken. */
  async function waiting(sql: string, url: string) {
    const holder = await bench.postgres.session()
    await holder.query('BEGIN')
    await holder.query(`UPDATE jobs SET note = 'held' WHERE id = 1`)
    const application = await bench.connect(url)
    const statement = application.query(sql, [...led.key, 1])
    await until('it waits', async () => {
      const rows = await bench.postgres.sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
      return rows.length > 0
    })
    return { statement, letGo: () => holder.query('COMMIT') }
  }

  it('asked by the guard, keeps the takeover waiting', async () => {
    const { statement, letGo } = await waiting(DOCUMENTED, bench.applicationUrl)
    await led.runOut()
    assert.equal((await led.contend()).kind, 'contended')
    await letGo()
    assert.equal((await statement).rowCount, 1)
    await led.takenOver()
  })

  it('asked by a plain subquery, deletes after the takeover has committed: why there is a guard', async () => {
    const { statement, letGo } = await waiting(UNSAFE, bench.postgres.url)
    await led.deposed()
    await letGo()
    assert.equal((await statement).rowCount, 1, 'the old leader deleted the row')
  })
})
