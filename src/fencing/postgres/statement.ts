/** One fenced statement, without a transaction around it. */
import { assertFence } from '../check.ts'
import type { Fence, Fenced, Standing } from '../fence.ts'
import type { Connection, Pool, Rows } from './connection.ts'

/** What the statement has to ask of the guard. */
const CONDITION = /\(\s*select\s+ok\s+from\s+tenure_guard\s*\)|\bfrom\s+tenure_guard\b/i
const OWN_WITH = /^\s*with\s+(recursive\s+)?/i

/**
 * Runs one INSERT, UPDATE, DELETE or MERGE that asks the strict guard itself: its text contains the condition
 * `(SELECT ok FROM tenure_guard)`, as in `DELETE FROM jobs WHERE id = $1 AND (SELECT ok FROM tenure_guard)`.
 *
 * A statement that changed nothing is asked about once more: stale, or no row that matched. Give it RETURNING to get
 * rows. In an open transaction it does what `guard` does, without ending the transaction when stale.
 *
 * @throws TypeError for a text without the condition, which would write unfenced.
 */
export async function guardedQuery(
  database: Connection | Pool,
  fence: Fence,
  text: string,
  values: readonly unknown[] = [],
): Promise<Fenced<Rows>> {
  assertFence(fence)
  const key = [fence.election, fence.session, String(fence.generation)]
  const value = await database.query(withGuardClause(text, values.length), [...values, ...key])
  if ((value.rowCount ?? 0) > 0) return { ok: true, value }
  // An old tenure never leads again: had the statement been refused, this is refused too.
  const { rows } = await database.query(`SELECT ${tryGuard(0)} AS ok`, key)
  if ((rows[0] as { ok: boolean }).ok) return { ok: true, value }
  return { ok: false, reason: 'stale', current: await standing(database, fence.election) }
}

/** The statement after a clause that asks the guard, once. Its parameters come after the statement's own. */
function withGuardClause(text: string, parameters: number): string {
  if (!CONDITION.test(text)) {
    throw new TypeError(
      `the statement does not ask the guard: add the condition (SELECT ok FROM tenure_guard) to ${JSON.stringify(text.slice(0, 80))}`,
    )
  }
  const clause = `tenure_guard AS MATERIALIZED (SELECT ${tryGuard(parameters)} AS ok)`
  const own = OWN_WITH.exec(text)
  if (own === null) return `WITH ${clause} ${text}`
  return `WITH ${own[1] ?? ''}${clause}, ${text.slice(own[0].length)}`
}

function tryGuard(after: number): string {
  return `tenure.try_guard($${after + 1}, $${after + 2}::pg_catalog.uuid, $${after + 3}::pg_catalog.int8)`
}

async function standing(database: Connection | Pool, election: string): Promise<Standing | null> {
  const text = 'SELECT generation::pg_catalog.text AS generation, holder FROM tenure.current($1)'
  const { rows } = await database.query(text, [election])
  const found = rows[0] as { generation: string; holder: string | null } | undefined
  return found === undefined ? null : { generation: Number(found.generation), holder: found.holder }
}
