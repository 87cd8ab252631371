/** Whether the schema on the server is one that this code can use. */
import { StoreError } from '../store.ts'
import { rightsMissing, schemaMissing } from './errors.ts'
import { MIGRATIONS } from './migrations/all.ts'
import type { Facts, Session } from './session.ts'

interface MigrationRow {
  readonly number: number
  readonly name: string
  readonly breaking: boolean
}

/** The migrations that the server has. */
export async function appliedMigrations(
  session: Session,
  signal: AbortSignal,
): Promise<readonly MigrationRow[]> {
  return session.query<MigrationRow & Record<string, unknown>>(
    'SELECT number, name, breaking FROM tenure.migration ORDER BY number',
    [],
    signal,
  )
}

/**
 * Checks tables, rights and version.
 *
 * @throws StoreError `schema` or `denied`, with what to run.
 */
export async function checkSchema(session: Session, facts: Facts, signal: AbortSignal): Promise<void> {
  if (!facts.hasSchema) throw schemaMissing('there is no schema "tenure" in this database')
  if (!facts.hasTables) throw schemaMissing('the schema "tenure" has no tables')
  // Without UPDATE and INSERT an observer can still read.
  const needed = facts.missing.filter((right) => right !== 'write' && right !== 'seed')
  if (needed.length > 0) throw rightsMissing(facts.missing, facts.role)
  const applied = await appliedMigrations(session, signal)
  refuseNewer(applied)
  const present = new Set(applied.map(({ number }) => number))
  const missing = MIGRATIONS.filter(({ number, elects }) => elects && !present.has(number))
  if (missing.length > 0)
    throw schemaMissing(`the schema lacks migration ${missing.map(({ name }) => name).join(', ')}`)
}

/** @throws StoreError `schema` where a migration that this code does not know forbids it to go on. */
export function refuseNewer(applied: readonly MigrationRow[]): void {
  const known = new Set(MIGRATIONS.map(({ number }) => number))
  const newer = applied.find(({ number, breaking }) => breaking && !known.has(number))
  if (newer === undefined) return
  throw new StoreError(
    'schema',
    `PostgreSQL: the schema has migration ${newer.number} (${newer.name}), which this version of Tenure cannot work with: run a newer Tenure`,
    { cause: null },
  )
}
