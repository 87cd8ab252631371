/** The table as the migrations made it: what somebody has changed since may break what rests on it. */
import pg from 'pg'
import { READ_LINEAGE } from '../../../stores/postgres/statements.ts'
import { type Check, fault, ok, paste, warning } from '../check.ts'
import { sqlName } from '../quote.ts'
import { askOne, type Look } from './look.ts'

const NAME = 'table'
const AS_OWNER = 'as the owner of the table'

interface Table {
  readonly unlogged: boolean
  readonly keyed: boolean
  readonly secured: boolean
  readonly triggers: readonly string[]
}

const QUESTION = `SELECT l.relpersistence <> 'p' AS unlogged,
  EXISTS (SELECT FROM pg_catalog.pg_index i
    WHERE i.indrelid = l.oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
      AND i.indnkeyatts = 2 AND (SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY a.attname)
        FROM pg_catalog.pg_attribute a WHERE a.attrelid = l.oid AND a.attnum = ANY (i.indkey)) = ARRAY['election', 'generation']) AS keyed,
  pg_catalog.row_security_active(l.oid) AS secured,
  ARRAY(SELECT t.tgname::pg_catalog.text FROM pg_catalog.pg_trigger t
    WHERE t.tgrelid = l.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' ORDER BY 1) AS triggers
FROM pg_catalog.pg_class l JOIN pg_catalog.pg_namespace n ON n.oid = l.relnamespace
WHERE n.nspname = 'tenure' AND l.relname = 'lease'`

export async function checkTable(look: Look): Promise<readonly Check[]> {
  const table = await askOne<Table & Record<string, unknown>>(look, QUESTION)
  const checks: Check[] = []
  if (table.unlogged) checks.push(unlogged())
  if (!table.keyed) checks.push(keyless())
  if (table.secured) checks.push(secured())
  checks.push(...table.triggers.map(triggered))
  return checks.length > 0 ? checks : [ok(NAME, 'tenure.lease is as the migrations made it')]
}

function unlogged(): Check {
  return fault(
    NAME,
    'schema',
    'tenure.lease is UNLOGGED',
    'generations outlive a crash and a promotion: an unlogged table is emptied by both',
    paste('sql', 'ALTER TABLE tenure.lease SET LOGGED;', AS_OWNER),
  )
}

function keyless(): Check {
  return fault(
    NAME,
    'schema',
    'tenure.lease has no unique key over (election, generation)',
    'a takeover waits for the fenced transactions of the earlier generation: it does so for this key alone',
    paste(
      'sql',
      'ALTER TABLE tenure.lease ADD CONSTRAINT lease_generation_key UNIQUE (election, generation);',
      AS_OWNER,
    ),
  )
}

function secured(): Check {
  return fault(
    NAME,
    'denied',
    'row level security hides rows of tenure.lease from this role',
    'a candidate sees every row: one that it does not see looks like an election that nobody ever led',
    paste('sql', 'ALTER TABLE tenure.lease DISABLE ROW LEVEL SECURITY;', AS_OWNER),
  )
}

function triggered(name: string): Check {
  return warning(
    NAME,
    `tenure.lease has a trigger ${name}, which Tenure has not made`,
    'nothing stands between a candidate and its lease: a trigger slows each renewal, may change it, and may fail',
    paste(
      'sql',
      `DROP TRIGGER ${sqlName(name)} ON tenure.lease;`,
      `${AS_OWNER}, once you know what it is there for`,
    ),
  )
}

/** Whether a promotion or a restore is noticed by the server's name. */
export async function checkLineage(look: Look): Promise<readonly Check[]> {
  try {
    if (!look.facts.standby) await look.session.query(READ_LINEAGE, [], look.signal)
    return [ok('lineage', 'the server tells its system identifier and timeline')]
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    return [
      warning(
        'lineage',
        `the server does not tell its system identifier and timeline: ${error.message}`,
        'a promotion or a restore that lost writes is noticed, also where no generation has gone backwards',
        paste(
          'sql',
          ['pg_control_system()', 'pg_walfile_name(pg_lsn)', 'pg_current_wal_lsn()']
            .map((one) => `GRANT EXECUTE ON FUNCTION pg_catalog.${one} TO ${look.facts.role};`)
            .join('\n'),
          'as a superuser, in this database; a managed service may not allow it',
        ),
      ),
    ]
  }
}
