/** Adds the two columns to a table, over the connection that the settings of a store name. */
import { Deadline } from '../stores/deadline.ts'
import { Connector } from '../stores/postgres/connect.ts'
import { translate } from '../stores/postgres/errors.ts'
import { parseLocation } from '../stores/postgres/location.ts'
import { passwordSource } from '../stores/postgres/password.ts'
import type { Session } from '../stores/postgres/session.ts'
import { type StoreContext, StoreError, type StoreSettings } from '../stores/store.ts'
import { type Finding, inspect } from './columns.ts'
import { classify, type Database } from './database.ts'
import { quoteTable, type TableName } from './names.ts'

const MIGRATE_TIMEOUT_MS = 30_000

/** A table, and the columns that were added; none: they were there. */
export interface Prepared {
  readonly table: TableName
  readonly added: readonly string[]
}

/**
 * Prepares each table, in a transaction of its own, once all of them were found fit. Safe to run again, and by several
 * at once.
 *
 * @throws StoreError `schema` where a name is no table, or a column is there that cannot serve; `denied` where the
 * role does not own the table.
 */
export async function prepareTables(
  settings: StoreSettings,
  tables: readonly TableName[],
  { clock }: StoreContext,
): Promise<Prepared[]> {
  const location = parseLocation(settings.url, process.env)
  const connector = new Connector(location, passwordSource(location, settings, process.env), clock)
  const attempt = { timeoutMs: MIGRATE_TIMEOUT_MS, signal: new AbortController().signal }
  const deadline = new Deadline(clock, attempt, 'PostgreSQL')
  try {
    const { session } = await connector.connect(deadline)
    try {
      return await prepareEach(databaseOf(session, deadline.signal), tables)
    } catch (error) {
      throw translate(error)
    } finally {
      session.destroy()
    }
  } finally {
    deadline.close()
  }
}

function databaseOf(session: Session, signal: AbortSignal): Database {
  return { query: async (text, values) => ({ rows: await session.query(text, values, signal) }) }
}

/** Looks at all of them before it changes one. */
async function prepareEach(db: Database, tables: readonly TableName[]): Promise<Prepared[]> {
  const plans = []
  for (const table of tables) plans.push({ table, plan: planFor(table, await inspect(db, table)) })
  const prepared: Prepared[] = []
  for (const { table, plan } of plans) {
    if (plan.statements.length > 0) await inTransaction(db, table, plan.statements)
    prepared.push({ table, added: plan.adds })
  }
  return prepared
}

type Plan = Pick<Extract<Finding, { kind: 'to do' }>, 'statements' | 'adds'>

function planFor(table: TableName, finding: Finding): Plan {
  switch (finding.kind) {
    case 'ready':
      return { statements: [], adds: [] }
    case 'to do':
      return finding
    default:
      throw refusal(table, finding)
  }
}

/** @throws StoreError where PostgreSQL refuses the change itself; anything else as it comes. */
async function inTransaction(db: Database, table: TableName, statements: readonly string[]): Promise<void> {
  try {
    for (const statement of ['BEGIN', ...statements, 'COMMIT']) await db.query(statement, [])
  } catch (error) {
    if (classify(error) !== 'row') throw error
    throw new StoreError(
      'schema',
      `PostgreSQL: ${quoteTable(table)}: the columns cannot be added: ${(error as Error).message}: run what --print writes by hand, changed as this table needs it, and then this again`,
      { cause: error },
    )
  }
}

function refusal(table: TableName, finding: Extract<Finding, { kind: 'unfit' | 'foreign' }>): StoreError {
  const name = quoteTable(table)
  if (finding.kind === 'unfit') {
    return new StoreError('schema', `PostgreSQL: ${name}: ${finding.found}: ${finding.remedy}`, {
      cause: null,
    })
  }
  return new StoreError(
    'denied',
    `PostgreSQL: ${name}: only its owner may add columns: run this as ${finding.owner}, or give what --print writes to the owner`,
    { cause: null },
  )
}
