/** One fenced statement, without a transaction around it. */
import { assertFence } from '../check.ts'
import type { Fence, Fenced, Standing } from '../fence.ts'
import { conditionAt } from './condition.ts'
import type { Connection, Pool, Rows } from './connection.ts'
import { blanked } from './sql-text.ts'
import { catchStale } from './stale.ts'

const OWN_WITH = /^\s*with\s+(recursive\s+)?/i
const REMEDY = 'use withGuard, or write another statement'

/**
 * Runs one INSERT, UPDATE or DELETE that asks the strict guard itself: all that it writes stands under the condition
 * `(SELECT ok FROM tenure_guard)`, as in `DELETE FROM jobs WHERE id = $1 AND (SELECT ok FROM tenure_guard)` or
 * `INSERT INTO jobs SELECT $1, $2 WHERE (SELECT ok FROM tenure_guard)`. When stale, the condition raises.
 *
 * A statement that changed nothing is asked about once more: stale, or no row that matched. Give it RETURNING to get
 * rows.
 *
 * @throws TypeError for a text that would write unfenced, as far as that can be seen from it; what the driver throws.
 */
export async function guardedQuery(
  database: Connection | Pool,
  fence: Fence,
  text: string,
  values: readonly unknown[] = [],
): Promise<Fenced<Rows>> {
  assertFence(fence)
  const key = [fence.election, fence.session, String(fence.generation)]
  const statement = withGuardClause(text, values.length)
  return catchStale(async () => {
    const value = await database.query(statement, [...values, ...key])
    if ((value.rowCount ?? 0) > 0) return { ok: true, value }
    // An old tenure never leads again: had the statement been refused, this is refused too.
    const { rows } = await database.query(`SELECT tenure.try_guard(${parametersAfter(0)}) AS ok`, key)
    if ((rows[0] as { ok: boolean }).ok) return { ok: true, value }
    return { ok: false, reason: 'stale', current: await standing(database, fence.election) }
  })
}

/** The statement after a clause that asks the guard, once. Its parameters come after the statement's own. */
function withGuardClause(text: string, parameters: number): string {
  const code = blanked(text)
  refuseUnfenced(code, text)
  refuseMissing(code, parameters)
  const clause = `tenure_guard AS MATERIALIZED (SELECT true AS ok FROM tenure.guard(${parametersAfter(parameters)}))`
  const own = OWN_WITH.exec(code)
  if (own === null) return `WITH ${clause} ${text}`
  return `WITH ${own[1] ?? ''}${clause}, ${text.slice(own[0].length)}`
}

function refuseUnfenced(code: string, text: string): void {
  const shown = JSON.stringify(text.slice(0, 80))
  const condition = conditionAt(code)
  if (condition === null) {
    throw new TypeError(
      `the statement does not ask the guard for all that it writes: join (SELECT ok FROM tenure_guard) to its WHERE by AND, without any OR beside it, in ${shown}`,
    )
  }
  if (/\bmerge\s+into\b/i.test(code))
    throw new TypeError(`MERGE has branches beside its condition: ${REMEDY}`)
  const conflict = code.search(/\bon\s+conflict\b/i)
  if (conflict !== -1 && conflict < condition) {
    throw new TypeError(`the condition has to stand before ON CONFLICT, as that of a SELECT, in ${shown}`)
  }
  if (/\btenure_guard\s*(\([^)]*\)\s*)?as\b/i.test(code)) {
    throw new TypeError(`the statement has a tenure_guard of its own: ${REMEDY}`)
  }
}

/** Else the guard's parameters would be taken for the statement's. */
function refuseMissing(code: string, parameters: number): void {
  const numbers = [...code.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number))
  const highest = Math.max(0, ...numbers)
  if (highest > parameters)
    throw new TypeError(`the statement has $${highest}, and ${parameters} values are given`)
}

function parametersAfter(count: number): string {
  return `$${count + 1}, $${count + 2}::pg_catalog.uuid, $${count + 3}::pg_catalog.int8`
}

async function standing(database: Connection | Pool, election: string): Promise<Standing | null> {
  const text = 'SELECT generation::pg_catalog.text AS generation, holder FROM tenure.current($1)'
  const { rows } = await database.query(text, [election])
  const found = rows[0] as { generation: string; holder: string | null } | undefined
  return found === undefined ? null : { generation: Number(found.generation), holder: found.holder }
}
