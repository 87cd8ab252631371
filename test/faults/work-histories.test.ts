/** Any history of claims, of what is done under their tokens, and of rows that change meanwhile, against a model. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { columnsScript } from '../../src/work/columns.ts'
import { type Item, type Result, sql, WorkTable } from '../../src/work/index.ts'
import { parseTable } from '../../src/work/names.ts'
import { startPostgres } from '../support/postgres.ts'

const RUNS = 80
const STEPS_MOST = 25
const ROWS = 4
const TEST_MOST_MS = 60_000
const TABLE = 'public.histories'

const server = await startPostgres()
const client = new pg.Client(server.url(await server.createDatabase()))
await client.connect()
after(async () => {
  await client.end()
  await server.dispose()
})
await client.query(
  `CREATE TABLE ${TABLE} (id integer PRIMARY KEY, step integer NOT NULL, firing boolean NOT NULL)`,
)
await client.query(columnsScript(parseTable(TABLE)))

const work = new WorkTable<{ step: number; firing: boolean }>({
  table: TABLE,
  key: 'id',
  leaseMs: 100_000,
  lifeMs: 200_000,
})

/** A row as it has to be. */
interface Row {
  step: number
  firing: boolean
  token: string | null
  live: boolean
}

const WAYS = ['apply', 'complete', 'fail', 'release', 'extend'] as const

type Step =
  | { readonly do: 'claim'; readonly limit: number }
  | { readonly do: (typeof WAYS)[number]; readonly picks: readonly number[]; readonly guarded: boolean }
  | { readonly do: 'expire' | 'delete' | 'quench'; readonly key: number }

const key = fc.integer({ min: 1, max: ROWS })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('claim' as const), limit: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom(...WAYS),
      picks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
      guarded: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('expire' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'quench' as const), key }) },
)

test('every history ends as the model says: results, steps, and who holds what', {
  timeout: TEST_MOST_MS,
}, async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: STEPS_MOST }), play), { numRuns: RUNS })
})

async function play(steps: readonly Step[]): Promise<void> {
  await client.query(`TRUNCATE ${TABLE}`)
  await client.query(`INSERT INTO ${TABLE} SELECT n, 0, true FROM generate_series(1, ${ROWS}) n`)
  const model = new Map<string, Row>()
  for (let id = 1; id <= ROWS; id++) model.set(`${id}`, { step: 0, firing: true, token: null, live: false })
  /** Every claim that ever was. */
  const items: Item<unknown>[] = []
  for (const one of steps) {
    await take(one, model, items)
    assert.deepEqual(await stored(), model)
  }
}

async function take(one: Step, model: Map<string, Row>, items: Item<unknown>[]): Promise<void> {
  switch (one.do) {
    case 'claim': {
      const free = [...model].filter(([, { live }]) => !live).slice(0, one.limit)
      const claimed = await work.claim(client, { limit: one.limit })
      assert.deepEqual(
        claimed.map((item) => [item.key, item.retaken]),
        free.map(([id, { token }]) => [id, token !== null]),
      )
      for (const item of claimed) Object.assign(model.get(item.key) ?? {}, { token: item.token, live: true })
      items.push(...claimed)
      break
    }
    case 'expire': {
      const row = model.get(`${one.key}`)
      if (row !== undefined) row.live = false
      await client.query(
        `UPDATE ${TABLE} SET leased_until = clock_timestamp() - interval '1 s' WHERE id = $1 AND lease_token IS NOT NULL`,
        [one.key],
      )
      break
    }
    case 'delete':
      model.delete(`${one.key}`)
      await client.query(`DELETE FROM ${TABLE} WHERE id = $1`, [one.key])
      break
    case 'quench': {
      const row = model.get(`${one.key}`)
      if (row !== undefined) row.firing = false
      await client.query(`UPDATE ${TABLE} SET firing = false WHERE id = $1`, [one.key])
      break
    }
    default: {
      if (items.length === 0) return
      const picked = one.picks.flatMap((pick) => items[pick % items.length] ?? [])
      const outcomes = await perform(one.do, picked, one.guarded)
      const expected = new Map<string, Result>()
      for (const item of picked) {
        if (!expected.has(item.token)) expected.set(item.token, foresee(one.do, item, model, one.guarded))
      }
      assert.deepEqual(
        outcomes.map(({ item, result }) => [item.token, result]),
        picked.map(({ token }) => [token, expected.get(token)]),
      )
    }
  }
}

function perform(way: (typeof WAYS)[number], picked: readonly Item<unknown>[], guarded: boolean) {
  const where = guarded ? { where: { firing: true } } : {}
  const set = { step: sql`item.step + 1` }
  switch (way) {
    case 'apply':
      return work.apply(client, picked, { set, ...where })
    case 'complete':
      return work.complete(client, picked, where)
    case 'fail':
      return work.fail(client, picked, { set, ...where })
    case 'release':
      return work.release(client, picked)
    case 'extend':
      return work.extend(client, picked)
  }
}

/** The result, with the model changed accordingly. */
function foresee(
  way: (typeof WAYS)[number],
  item: Item<unknown>,
  model: Map<string, Row>,
  guarded: boolean,
): Result {
  const row = model.get(item.key)
  if (row === undefined) return 'missing'
  if (row.token !== item.token) return 'lost'
  if (way === 'extend') return row.live ? 'applied' : 'ended'
  if (way !== 'release' && guarded && !row.firing) return 'unmet'
  const steps = way === 'apply' || way === 'fail' ? 1 : 0
  Object.assign(row, { step: row.step + steps, token: null, live: false })
  return 'applied'
}

async function stored(): Promise<Map<string, Row>> {
  const { rows } = await client.query<Row & { id: string }>(
    `SELECT id::text, step, firing, lease_token::text AS token, coalesce(leased_until > clock_timestamp(), false) AS live
    FROM ${TABLE} ORDER BY histories.id`,
  )
  return new Map(rows.map(({ id, ...row }) => [id, row]))
}
