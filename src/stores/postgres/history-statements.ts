/**
 * The statements of the history, for a transaction of their own that bounds how long each may wait. Functions and
 * types are qualified, as in `statements.ts`.
 */
import { dateMs } from './statements.ts'

/** Rows kept of an election. */
const KEPT_MOST = 1_000
/** Rows that age does not remove: the server's clock may be wrong by years. */
const KEPT_LEAST = 100
const KEPT_DAYS = 400

/**
 * Bounds for the server, so that nothing is left waiting there once its client has gone: a wait for a lock on the table
 * is not bound by a setting inside the statement that waits.
 */
export function begin(access: 'READ WRITE' | 'READ ONLY', timeoutMs: number): string {
  const most = Math.max(2, Math.floor(timeoutMs))
  return `BEGIN ISOLATION LEVEL READ COMMITTED ${access};
SET LOCAL lock_timeout = ${Math.floor(most / 2)};
SET LOCAL statement_timeout = ${most};
SET LOCAL idle_in_transaction_session_timeout = ${most};
SET LOCAL synchronous_commit = local`
}

function time(parameter: string): string {
  return `pg_catalog.to_timestamp(${parameter}::pg_catalog.float8 / 1000)`
}

/**
 * $1 election, $2 generation, $3 holder, $4 writer, $5 from ms, $6 until ms or null, $7 reason or null, $8 leaderless
 * ms or null. What its successor has written of it is completed; the end that the successor was told stays.
 */
export const TELL_OWN = `INSERT INTO tenure.history AS h
  (election, generation, holder, writer, began_at, ended_at, reason, leaderless_ms)
VALUES ($1, $2::pg_catalog.int8, $3, $4, ${time('$5')}, ${time('$6')}, $7, $8::pg_catalog.int8)
ON CONFLICT (election, generation) DO UPDATE SET
  holder = excluded.holder, writer = excluded.writer, began_at = excluded.began_at,
  ended_at = coalesce(h.ended_at, excluded.ended_at), reason = coalesce(excluded.reason, h.reason),
  leaderless_ms = excluded.leaderless_ms
WHERE h.writer IS NULL OR h.writer = excluded.writer`

/**
 * $1 election, $2 generation, $3 holder or null, $4 from ms, $5 until ms, $6 how it ended. What the holder itself has
 * said stays; when it ended, the grant of its successor knows best.
 */
export const TELL_BEFORE = `INSERT INTO tenure.history AS h (election, generation, holder, began_at, ended_at, reason)
VALUES ($1, $2::pg_catalog.int8, $3, ${time('$4')}, ${time('$5')}, $6)
ON CONFLICT (election, generation) DO UPDATE SET
  holder = coalesce(h.holder, excluded.holder), ended_at = excluded.ended_at,
  reason = coalesce(h.reason, excluded.reason)`

/** $1 election. */
export const PRUNE = `DELETE FROM tenure.history h
WHERE h.election = $1 AND (
  h.generation <= (SELECT o.generation FROM tenure.history o WHERE o.election = $1
    ORDER BY o.generation DESC OFFSET ${KEPT_MOST} LIMIT 1)
  OR coalesce(h.ended_at, h.began_at) < pg_catalog.clock_timestamp() - pg_catalog.make_interval(days => ${KEPT_DAYS})
    AND h.generation <= (SELECT o.generation FROM tenure.history o WHERE o.election = $1
      ORDER BY o.generation DESC OFFSET ${KEPT_LEAST} LIMIT 1))`

/** $1 election, $2 how many. The newest rows, the oldest of them first, with what the lease says of them. */
export const READ = `SELECT h.generation::pg_catalog.float8 AS generation, h.holder, h.reason,
  ${dateMs('h.began_at')} AS "fromMs",
  ${dateMs('coalesce(h.ended_at, l.freed_at)')} AS "untilMs",
  h.leaderless_ms::pg_catalog.float8 AS "leaderlessMs", coalesce(l.lease, 'past') AS lease
FROM (
  SELECT * FROM tenure.history WHERE election = $1 ORDER BY generation DESC LIMIT $2::pg_catalog.int4
) h LEFT JOIN (
  SELECT l.generation, CASE WHEN l.session IS NULL THEN l.released_at
      WHEN l.expires_at <= pg_catalog.clock_timestamp() THEN l.expires_at END AS freed_at,
    CASE WHEN l.session IS NULL THEN 'released'
      WHEN l.expires_at <= pg_catalog.clock_timestamp() THEN 'expired' ELSE 'held' END AS lease
  FROM tenure.lease l WHERE l.election = $1
) l ON l.generation = h.generation
ORDER BY h.generation`
