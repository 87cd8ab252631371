/** Brings the schema up to date, or prints what would. */

import { Deadline } from '../deadline.ts'
import { type StoreContext, StoreError, type StoreSettings } from '../store.ts'
import { Connector } from './connect.ts'
import { translate } from './errors.ts'
import { rolesScript } from './grants.ts'
import { parseLocation } from './location.ts'
import { MIGRATIONS } from './migrations/all.ts'
import type { Migration } from './migrations/migration.ts'
import { passwordSource } from './password.ts'
import { appliedMigrations, refuseNewer } from './schema.ts'
import type { Facts, Session } from './session.ts'

/** All of it; a migration that waits longer for a lock gives up and changes nothing. */
const MIGRATE_TIMEOUT_MS = 60_000
const LOCK_TIMEOUT_MS = 20_000

/** Any number will do that other programs are unlikely to choose. */
const LOCK_KEY = '7310604871219847'

/** Held to the end of the transaction: of two that migrate at once, one waits and finds everything done. */
const TAKE_LOCK = `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
SELECT pg_catalog.pg_advisory_xact_lock(${LOCK_KEY});`

const CREATE_SCHEMA = 'CREATE SCHEMA tenure;'

const CREATE_MIGRATION = `CREATE TABLE IF NOT EXISTS tenure.migration (
  number integer PRIMARY KEY,
  name text NOT NULL,
  breaking boolean NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);`

/** Names of migrations, in the order of their numbers. */
export interface Migrated {
  readonly applied: readonly string[]
  /** Were there before. */
  readonly present: readonly string[]
}

/**
 * Applies what is missing, in one transaction. Safe to run again, and by several at once.
 *
 * @throws StoreError `schema` where the schema is newer than this code can work with.
 */
export async function migrate(settings: StoreSettings, context: StoreContext): Promise<Migrated> {
  const location = parseLocation(settings.url, process.env)
  const connector = new Connector(location, passwordSource(location, settings, process.env), context.clock)
  const attempt = { timeoutMs: MIGRATE_TIMEOUT_MS, signal: new AbortController().signal }
  const deadline = new Deadline(context.clock, attempt, 'PostgreSQL')
  try {
    const { session, facts } = await connector.connect(deadline)
    try {
      return await migrateSession(session, deadline.signal)
    } catch (error) {
      throw explain(error, facts)
    } finally {
      session.destroy()
    }
  } finally {
    deadline.close()
  }
}

async function migrateSession(session: Session, signal: AbortSignal): Promise<Migrated> {
  const run = (sql: string) => session.query(sql, [], signal)
  await run('BEGIN ISOLATION LEVEL READ COMMITTED')
  for (const one of TAKE_LOCK.split('\n')) await run(one)
  // Asked only now: another may have been at it. CREATE … IF NOT EXISTS would want rights that are not needed.
  const { hasSchema } = await session.facts(signal)
  if (!hasSchema) await run(CREATE_SCHEMA)
  await run(CREATE_MIGRATION)
  const rows = await appliedMigrations(session, signal)
  refuseNewer(rows)
  const missing = MIGRATIONS.filter(({ number }) => !rows.some((row) => row.number === number))
  for (const migration of missing) {
    await session.script(migration.sql, signal)
    await run(record(migration))
  }
  await run('COMMIT')
  return { applied: missing.map(fileStem), present: rows.map(fileStem) }
}

function record({ number, name, breaking }: Migration): string {
  return `INSERT INTO tenure.migration (number, name, breaking) VALUES (${number}, '${name}', ${breaking});`
}

function fileStem({ number, name }: Pick<Migration, 'number' | 'name'>): string {
  return `${String(number).padStart(4, '0')}_${name}`
}

function explain(error: unknown, { role }: Facts): StoreError {
  const translated = translate(error)
  if (translated.kind !== 'denied') return translated
  return new StoreError(
    'denied',
    `PostgreSQL: ${(error as Error).message}: migrate as the owner of the database or of the schema, or run GRANT CREATE ON DATABASE … TO ${role};`,
    { cause: error },
  )
}

/**
 * The same as one script for an administrator: plain SQL in one transaction, which may be run again. It ends with
 * the rights of a candidate, as comments.
 */
export function migrationScript(): string {
  return [
    '-- Tenure: the schema for leases. Safe to run again: what is there already is left alone.',
    'BEGIN;',
    TAKE_LOCK,
    `DO $tenure$ BEGIN IF pg_catalog.to_regnamespace('tenure') IS NULL THEN ${CREATE_SCHEMA} END IF; END $tenure$;`,
    CREATE_MIGRATION,
    ...MIGRATIONS.map(guarded),
    'COMMIT;',
    '',
    ...rolesScript()
      .trimEnd()
      .split('\n')
      .map((line) => (line.startsWith('--') ? line : `-- ${line}`)),
    '',
  ].join('\n')
}

function guarded(migration: Migration): string {
  return `
DO $tenure$ BEGIN
IF NOT EXISTS (SELECT FROM tenure.migration WHERE number = ${migration.number}) THEN
EXECUTE $sql$
${migration.sql}
${record(migration)}
$sql$;
END IF;
END $tenure$;`
}

/** The files of `deploy/postgres`: name and content. Generated, so that people can read what runs. */
export function deployFiles(): ReadonlyMap<string, string> {
  const files = MIGRATIONS.map(
    (migration) =>
      [
        `${fileStem(migration)}.sql`,
        `-- Generated from src/stores/postgres/migrations.\n${migration.sql}\n`,
      ] as const,
  )
  return new Map([...files, ['roles.sql', rolesScript()]])
}
