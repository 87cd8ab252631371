/**
 * The statements. Each is one statement that locks the rows, *then* reads the clock, *then* writes. Functions and
 * types are qualified, and nothing is left behind in the session, so that neither settings nor a pooler change what
 * they do. What the caller gives are parameters, pieces of SQL from the caller's source, and quoted names.
 */
import { LEASE_TOKEN, LEASED_UNTIL, quoteName } from './names.ts'
import { Parameters, Sql } from './sql.ts'
import { CLAIMED_AT, newToken } from './token.ts'

export interface Statement {
  readonly text: string
  readonly values: unknown[]
}

/** What is known of a table, quoted. */
export interface Target {
  readonly table: string
  readonly key: string
}

export interface ClaimOptions {
  readonly limit: number
  readonly leaseMs: number
  /** What is due, beside being free; null: everything. */
  readonly due: Sql | null
  readonly orderBy: Sql | null
  /** The columns to read; null: all. */
  readonly columns: readonly string[] | null
}

/** Of a claim's reply, beside the caller's columns. */
export const KEY_COLUMN = 'tenure_key'
export const TOKEN_COLUMN = 'tenure_token'
export const RETAKEN_COLUMN = 'tenure_retaken'

/**
 * Rows that are locked just now are passed over, and whoever was waited for has not changed what is free: LIMIT
 * counts locked rows, and in a materialized CTE it counts them once.
 */
export function claimStatement({ table, key }: Target, options: ClaimOptions): Statement {
  const { limit, leaseMs, due, orderBy, columns } = options
  const parameters = new Parameters()
  const isDue = due === null ? '' : `\n    AND (${parameters.render(due)})`
  const order = orderBy === null ? `item.${key}` : parameters.render(orderBy)
  const row = columns === null ? 'item.*' : columns.map((name) => `item.${quoteName(name)}`).join(', ')
  const text = `WITH picked AS MATERIALIZED (
  SELECT item.${key} AS tenure_key, item.${LEASED_UNTIL} IS NOT NULL AS tenure_retaken
  FROM ${table} AS item
  WHERE (item.${LEASED_UNTIL} IS NULL OR item.${LEASED_UNTIL} <= pg_catalog.clock_timestamp())${isDue}
  ORDER BY ${order}
  LIMIT ${parameters.bind(limit)}
  FOR UPDATE OF item SKIP LOCKED
), numbered AS MATERIALIZED (
  SELECT picked.*, pg_catalog.row_number() OVER () AS tenure_n FROM picked
), t AS MATERIALIZED (
  SELECT pg_catalog.clock_timestamp() AS tenure_ts, pg_catalog.count(*) AS tenure_rows FROM picked
), claimed AS (
  UPDATE ${table} AS item
  SET ${LEASED_UNTIL} = t.tenure_ts + ${interval(parameters.bind(leaseMs))},
    ${LEASE_TOKEN} = ${newToken('t.tenure_ts')}
  FROM numbered, t
  WHERE item.${key} = numbered.tenure_key
  RETURNING ${row}, item.${key}::pg_catalog.text AS ${KEY_COLUMN}, item.${LEASE_TOKEN}::pg_catalog.text AS ${TOKEN_COLUMN},
    numbered.tenure_retaken::pg_catalog.int4 AS ${RETAKEN_COLUMN}, numbered.tenure_n
)
SELECT * FROM claimed ORDER BY tenure_n`
  return { text, values: parameters.values }
}

/** The claims that a statement is about: keys and tokens in step, each token once. */
export interface Claims {
  readonly keys: readonly string[]
  readonly tokens: readonly string[]
}

/** Where among the claims a row's token stands; null where it is none of them. */
const POSITION = `pg_catalog.array_position($2::pg_catalog.uuid[], item.${LEASE_TOKEN})`

/** The one predicate of all that is done to a claimed row: it still carries the token of its claim. */
function isOurs({ key }: Target): string {
  return `item.${key} = ANY ($1) AND ($1)[${POSITION}] = item.${key}`
}

interface Change {
  /** The SET list. */
  readonly set: string
  /** Beside the predicate; null: nothing. */
  readonly where: string | null
  /** SQL that says of a written row whether the change is there: a trigger may have taken it out again. */
  readonly done: string
  /** The result for a row whose token stands and whose `where` does not hold. */
  readonly otherwise: 'unmet' | 'ended'
}

/** $1 keys, $2 tokens, $3 lock timeout. */
function changeStatement(target: Target, parameters: Parameters, change: Change): Statement {
  const { table, key } = target
  const { set, where, done, otherwise } = change
  const text = `WITH cfg AS MATERIALIZED (
  SELECT pg_catalog.current_setting('lock_timeout') AS tenure_before,
    pg_catalog.set_config('lock_timeout', $3::pg_catalog.text, true) AS tenure_during
), held AS MATERIALIZED (
  SELECT item.${key} AS tenure_key, item.${LEASED_UNTIL} AS tenure_until, ${POSITION} AS tenure_n
  FROM ${table} AS item CROSS JOIN cfg
  WHERE ${isOurs(target)}
  FOR NO KEY UPDATE OF item
), t AS MATERIALIZED (
  SELECT pg_catalog.clock_timestamp() AS tenure_ts, pg_catalog.count(*) AS tenure_rows FROM held
), changed AS (
  UPDATE ${table} AS item
  SET ${set}
  FROM held, t
  WHERE item.${key} = held.tenure_key AND ${isOurs(target)}${where === null ? '' : `\n    AND (${where})`}
  RETURNING held.tenure_n, item.${LEASED_UNTIL} AS tenure_until, ${done} AS tenure_done
)
SELECT pg_catalog.json_agg(pg_catalog.json_build_array(
    CASE WHEN changed.tenure_done THEN 'applied' WHEN changed.tenure_n IS NOT NULL THEN 'kept' WHEN held.tenure_n IS NOT NULL THEN '${otherwise}'
      WHEN EXISTS (SELECT FROM ${table} AS item WHERE item.${key} = ($1)[given.n]) THEN 'lost' ELSE 'missing' END,
    greatest(0, pg_catalog.floor(extract(epoch FROM coalesce(changed.tenure_until, held.tenure_until) - t.tenure_ts) * 1000))
  ) ORDER BY given.n)::pg_catalog.text AS results,
  pg_catalog.set_config('lock_timeout', (SELECT cfg.tenure_before FROM cfg), true)
FROM pg_catalog.generate_subscripts($2::pg_catalog.uuid[], 1) AS given (n) CROSS JOIN t
LEFT JOIN held ON held.tenure_n = given.n LEFT JOIN changed ON changed.tenure_n = given.n`
  return { text, values: parameters.values }
}

function begin({ keys, tokens }: Claims, lockTimeoutMs: number): Parameters {
  const parameters = new Parameters()
  for (const value of [keys, tokens, String(lockTimeoutMs)]) parameters.bind(value)
  return parameters
}

export interface ApplyOptions {
  /** Column to value, or to a piece of SQL. */
  readonly set: Readonly<Record<string, unknown>>
  /** The further predicate: a piece of SQL, or column to the value that it must have; null: none. */
  readonly where: Sql | Readonly<Record<string, unknown>> | null
  readonly lockTimeoutMs: number
}

/** Writes the caller's columns and clears lease and token with them. An expired lease that nobody took will do. */
export function applyStatement(target: Target, claims: Claims, options: ApplyOptions): Statement {
  const parameters = begin(claims, options.lockTimeoutMs)
  const columns = Object.entries(options.set).map(
    ([name, value]) => `${quoteName(name)} = ${written(value, parameters)}`,
  )
  const set = [...columns, `${LEASED_UNTIL} = NULL`, `${LEASE_TOKEN} = NULL`].join(', ')
  return changeStatement(target, parameters, {
    set,
    where: predicate(options.where, parameters),
    done: `item.${LEASE_TOKEN} IS NULL`,
    otherwise: 'unmet',
  })
}

/** A live lease only, never shortened, and never beyond the claim's begin and its total life. */
export function extendStatement(
  target: Target,
  claims: Claims,
  options: { readonly leaseMs: number; readonly lifeMs: number; readonly lockTimeoutMs: number },
): Statement {
  const parameters = begin(claims, options.lockTimeoutMs)
  const lease = interval(parameters.bind(options.leaseMs))
  const lifeEnd = `${CLAIMED_AT} + ${interval(parameters.bind(options.lifeMs))}`
  return changeStatement(target, parameters, {
    set: `${LEASED_UNTIL} = greatest(item.${LEASED_UNTIL}, least(t.tenure_ts + ${lease}, ${lifeEnd}))`,
    where: `item.${LEASED_UNTIL} > t.tenure_ts AND ${lifeEnd} > item.${LEASED_UNTIL}`,
    done: 'true',
    otherwise: 'ended',
  })
}

function written(value: unknown, parameters: Parameters): string {
  return isSql(value) ? parameters.render(value) : parameters.bind(value)
}

function predicate(where: ApplyOptions['where'], parameters: Parameters): string | null {
  if (where === null) return null
  if (isSql(where)) return parameters.render(where)
  const parts = Object.entries(where).map(
    ([name, value]) => `item.${quoteName(name)} IS NOT DISTINCT FROM ${written(value, parameters)}`,
  )
  return parts.length === 0 ? null : parts.join(' AND ')
}

function isSql(value: unknown): value is Sql {
  return value instanceof Sql
}

/** An interval from a parameter in milliseconds. */
function interval(parameter: string): string {
  return `pg_catalog.make_interval(secs => ${parameter}::pg_catalog.float8 / 1000)`
}
