import { advise, type Check, ok, paste, type Remedy, warning } from '../check.ts'
import { sqlName } from '../quote.ts'
import { askOne, type Look } from './look.ts'

interface Counts {
  readonly of_role: number
  readonly role_limit: number
  readonly of_database: number
  readonly database_limit: number
  readonly of_all: number
  readonly all_limit: number
  readonly superuser: boolean
}

/** Limits of -1 are none. The connection that asks is not counted. */
const QUESTION = `WITH a AS (
  SELECT datname, usename FROM pg_catalog.pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_catalog.pg_backend_pid())
SELECT
  (SELECT count(*) FROM a WHERE usename = CURRENT_USER)::pg_catalog.int4 AS of_role, r.rolconnlimit AS role_limit,
  (SELECT count(*) FROM a WHERE datname = d.datname)::pg_catalog.int4 AS of_database, d.datconnlimit AS database_limit,
  (SELECT count(*) FROM a)::pg_catalog.int4 AS of_all,
  (pg_catalog.current_setting('max_connections')::pg_catalog.int4
    - pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4) AS all_limit,
  r.rolsuper AS superuser
FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
WHERE r.rolname = CURRENT_USER AND d.datname = pg_catalog.current_database()`

/** Whether this sidecar's connections fit beside those that are there. */
export async function checkConnections(look: Look): Promise<readonly Check[]> {
  const counts = await askOne<Counts & Record<string, unknown>>(look, QUESTION)
  const needed = look.subject.config.values.elections.length + 1
  const { role } = look.facts
  const database = sqlName(look.location.database)
  const alter = (what: string, used: number): Remedy =>
    paste(
      'sql',
      `ALTER ${what} CONNECTION LIMIT ${used + needed};`,
      'as a superuser; count what all your sidecars need',
    )
  const limits = counts.superuser
    ? []
    : [
        tight(
          `the role ${role}`,
          counts.of_role,
          counts.role_limit,
          needed,
          alter(`ROLE ${role}`, counts.of_role),
        ),
        tight(
          `the database ${database}`,
          counts.of_database,
          counts.database_limit,
          needed,
          alter(`DATABASE ${database}`, counts.of_database),
        ),
      ]
  const raise = advise('end connections that are idle, or raise max_connections and restart the server')
  const wrong = [...limits, tight('the server', counts.of_all, counts.all_limit, needed, raise)].filter(
    (check) => check !== null,
  )
  if (wrong.length > 0) return wrong
  return [
    ok('connections', `${counts.of_all} of ${counts.all_limit} are in use, and a sidecar needs ${needed}`),
  ]
}

/** Null where there is room. */
function tight(what: string, used: number, limit: number, needed: number, remedy: Remedy): Check | null {
  if (limit < 0 || limit - used >= needed) return null
  return warning(
    'connections',
    `${what} has ${limit} connections at most, and others use ${used} of them`,
    `a sidecar needs ${needed}: one for each election, and one to be woken by`,
    remedy,
  )
}
