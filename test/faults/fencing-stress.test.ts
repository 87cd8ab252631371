/** Twelve contenders, a ttl of 80 ms, a quarter of the transactions slow: which guard lets a stale write commit. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { guardedQuery, setFence, staleOf, withGuard } from '../../src/fencing/index.ts'
import { FencingBench } from '../support/fencing-bench.ts'
import { contest, prepareContest, type Write } from '../support/fencing-contest.ts'

const FOR_MS = 30_000
const INSERT = 'INSERT INTO contest.write (form, generation) VALUES ($1, $2)'
const seed = Number(process.env.TENURE_SEED ?? Math.floor(Math.random() * 2 ** 31))

const strict: Write = async (connection, fence, pauseMs, form) => {
  const result = await withGuard(connection, fence, async () => {
    await sleep(pauseMs)
    await connection.query(INSERT, [form, fence.generation])
  })
  return result.ok
}

const oneStatement: Write = async (connection, fence, pauseMs, form) => {
  const text = `INSERT INTO contest.write (form, generation)
    SELECT $1, $2::bigint WHERE (SELECT ok FROM tenure_guard) AND pg_sleep($3) IS NOT NULL`
  const result = await guardedQuery(connection, fence, text, [form, fence.generation, pauseMs / 1_000])
  return result.ok
}

/** Two writes, with the pause between them: the first one asks the guard, the second one rests on it. */
const table: Write = async (connection, fence, pauseMs, form) => {
  const text = INSERT.replace('.write', '.guarded')
  await connection.query('BEGIN')
  await setFence(connection, fence)
  try {
    await connection.query(text, [form, fence.generation])
    await sleep(pauseMs)
    await connection.query(text, [form, fence.generation])
    await connection.query('COMMIT')
    return true
  } catch (error) {
    if (staleOf(error) === null) throw error
    await connection.query('ROLLBACK')
    return false
  }
}

/** What people write who know of no guard: look first, then write, in one transaction. */
const racy: Write = async (connection, fence, pauseMs, form) => {
  await connection.query('BEGIN')
  const { rowCount } = await connection.query(
    'SELECT FROM tenure.lease WHERE election = $1 AND session = $2 AND generation = $3 AND expires_at > clock_timestamp()',
    [fence.election, fence.session, fence.generation],
  )
  await sleep(pauseMs)
  if (rowCount === 1) await connection.query(INSERT, [form, fence.generation])
  await connection.query('COMMIT')
  return rowCount === 1
}

const bench = await FencingBench.start({ settings: { track_commit_timestamp: 'on', max_connections: '250' } })
await prepareContest(bench)

describe(`a contest of ${FOR_MS / 1_000} s, seed ${seed} (replay its choices with TENURE_SEED)`, {
  concurrency: true,
}, () => {
  for (const [form, write] of Object.entries({ strict, oneStatement, table })) {
    it(`lets no stale write commit: ${form}`, async (t) => {
      if (write === table)
        await bench.postgres.sql('SELECT tenure.guard_table($1, $2)', ['contest.guarded', form])
      const tally = await contest(bench, { form, write, url: bench.applicationUrl, seed, forMs: FOR_MS })
      t.diagnostic(JSON.stringify(tally))
      assert.equal(tally.stale, 0)
      // Else there was no contest.
      assert.ok(tally.tenures > 50 && tally.commits > 50 && tally.refused > 20, JSON.stringify(tally))
    })
  }

  it('lets stale writes commit where nothing guards them: the harness can fail', async (t) => {
    const tally = await contest(bench, {
      form: 'racy',
      write: racy,
      url: bench.postgres.url,
      seed,
      forMs: FOR_MS,
    })
    t.diagnostic(JSON.stringify(tally))
    assert.ok(tally.stale > 0, JSON.stringify(tally))
  })
})
