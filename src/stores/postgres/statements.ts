/**
 * The statements. Each is one autocommit statement that locks the row, *then* reads the clock, *then* writes:
 * after a wait for a lock, whatever was computed before it is old. The filter comes before the lock, so that an
 * attempt that is refused takes no lock and no transaction id.
 *
 * Functions and types are qualified and settings are forced inside the statement, so that neither the settings
 * of the role nor a pooler between change what it does. Numbers that may be large travel as text.
 */

/** How far the generation jumps where the server may have forgotten tenures: more than were ever begun meanwhile. */
const REWIND_JUMP = 2 ** 20
/** Promotions in a row, each of which forgot every write since, that a jump makes up for. */
const PROMOTIONS_MOST = 16

/** System identifier and timeline. The timeline of the WAL being written: the control file lags after a promotion. */
const LINEAGE = `(SELECT pg_catalog.concat(s.system_identifier, '/',
      pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))
    FROM pg_catalog.pg_control_system() s)`

/** Succeeds where the server tells its lineage to this role. */
export const READ_LINEAGE = `SELECT ${LINEAGE}`

/** A statement for servers that tell their lineage, and for those that do not. */
interface Statement {
  readonly withLineage: string
  readonly without: string
}

function forBoth(make: (lineage: string) => string): Statement {
  return { withLineage: make(LINEAGE), without: make('NULL::pg_catalog.text') }
}

/** Settings for this statement alone: a commit that is on disk when reported, and a bounded wait for the row. */
function settings(lockTimeout: string): string {
  return `pg_catalog.set_config('synchronous_commit', 'on', true),
    pg_catalog.set_config('lock_timeout', ${lockTimeout}::pg_catalog.text, true)`
}

/** An interval from a parameter in milliseconds. */
function interval(parameter: string): string {
  return `pg_catalog.make_interval(secs => ${parameter}::pg_catalog.float8 / 1000)`
}

/** Milliseconds since 1970, or null. */
export function dateMs(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::pg_catalog.float8`
}

/** Whole milliseconds of an interval as text; never negative. */
function milliseconds(span: string): string {
  return `greatest(0, pg_catalog.ceil(extract(epoch FROM ${span}) * 1000))::pg_catalog.int8::pg_catalog.text`
}

/** The statement began no longer ago than its caller waits. `lock_timeout` does not bound a wait for the table. */
function inTime(attemptTimeout: string): string {
  return `t.ts - pg_catalog.now() <= ${interval(attemptTimeout)}`
}

/** Changes with every write of a holder, and with the server: what an observation of one says nothing of another. */
const MARK = `pg_catalog.concat(l.session, ' ', l.generation, ' ', extract(epoch FROM l.renewed_at), ' ', l.lineage,
    ' @ ', cfg.lineage)`

/** The server is not the one that the row was last written on, or the row is older than one seen before. */
const REWOUND = `(l.generation < $9::pg_catalog.int8 OR coalesce(l.lineage <> cfg.lineage, false))`

/** The number of a timeline, from a lineage. */
function timeline(lineage: string): string {
  return `('x' || pg_catalog.split_part(${lineage}, '/', 2))::pg_catalog.bit(32)::pg_catalog.int8`
}

/** How many promotions lie between the row and the server, at least one. */
const PROMOTIONS = `CASE WHEN pg_catalog.split_part(l.lineage, '/', 1) = pg_catalog.split_part(cfg.lineage, '/', 1)
        THEN least(${PROMOTIONS_MOST}, greatest(1, ${timeline('cfg.lineage')} - ${timeline('l.lineage')})) ELSE 1 END`

/**
 * Doubles with each promotion: the tenure that jumped after the first one may have been forgotten by the second
 * one, and remembered by a candidate that adds to it. No generation may come again; the simulator found both.
 */
const JUMP = `${REWIND_JUMP} * ((1::pg_catalog.int8 << (${PROMOTIONS})::pg_catalog.int4) - 1)`

/** Further ahead than any renewal can have put it: the server's clock was set back. */
const AHEAD = `(l.expires_at > pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => coalesce(l.ttl_ms, $4) / 1000.0))`

const FREE = `CASE WHEN ${REWOUND} THEN ${MARK} = $10::pg_catalog.text
      ELSE l.session IS NULL OR l.session = $3::pg_catalog.uuid OR l.expires_at <= pg_catalog.clock_timestamp()
        OR (${AHEAD} AND ${MARK} = $8::pg_catalog.text) END`

/** For the history: a `Begun` as JSON. */
const BEGUN = `pg_catalog.json_build_object('fromMs', ${dateMs('t.ts')}, 'before',
      CASE WHEN pg_catalog.isfinite(cur.ended_at) AND pg_catalog.isfinite(cur.acquired_at) THEN
        pg_catalog.json_build_object('generation', cur.generation, 'holder', cur.holder,
          'fromMs', ${dateMs('cur.acquired_at')}, 'untilMs', ${dateMs('least(t.ts, cur.ended_at)')},
          'ended', CASE WHEN cur.released_at IS NOT NULL THEN 'released'
            WHEN cur.expires_at <= t.ts THEN 'expired' ELSE 'unknown' END) END)`

/**
 * $1 election, $2 identity, $3 session, $4 ttl ms, $5 lock timeout, $6 above, $7 attempt timeout ms, $8 the mark
 * seen unchanged for the row's ttl or '', $9 the highest generation seen, $10 the mark seen unchanged for the
 * longer of the row's ttl and ours or ''. No row: the election was never seeded.
 */
export const ACQUIRE: Statement = forBoth(
  (lineage) => `WITH cfg AS MATERIALIZED (
  SELECT ${settings('$5')},
    ${lineage} AS lineage
), cur AS MATERIALIZED (
  SELECT l.election, l.generation, l.holder, l.acquired_at, l.released_at, l.expires_at,
    coalesce(l.released_at, l.expires_at) AS ended_at, ${REWOUND} AS rewound
  FROM tenure.lease l CROSS JOIN cfg
  WHERE l.election = $1 AND l.generation <= $6::pg_catalog.int8
    AND ${FREE}
  FOR UPDATE OF l SKIP LOCKED
), t AS MATERIALIZED (
  SELECT pg_catalog.clock_timestamp() AS ts FROM cur
), won AS (
  UPDATE tenure.lease l
  SET holder = $2, session = $3::pg_catalog.uuid,
    generation = greatest(l.generation, $6::pg_catalog.int8, $9::pg_catalog.int8)
      + CASE WHEN cur.rewound THEN ${JUMP} ELSE 1 END,
    acquired_at = t.ts, renewed_at = t.ts, released_at = NULL, expires_at = t.ts + ${interval('$4')},
    ttl_ms = $4::pg_catalog.int4, lineage = coalesce(cfg.lineage, l.lineage)
  FROM cur, t, cfg
  WHERE l.election = cur.election AND ${inTime('$7')}
  RETURNING l.election, l.generation::pg_catalog.text AS granted,
    CASE WHEN cur.released_at IS NOT NULL THEN ${milliseconds('t.ts - cur.released_at')}
      WHEN pg_catalog.isfinite(cur.expires_at) THEN ${milliseconds('t.ts - cur.expires_at')} END AS leaderless_ms,
    ${BEGUN} AS begun
)
SELECT won.granted, won.leaderless_ms, won.begun, l.holder, l.session::pg_catalog.text AS session,
  l.generation::pg_catalog.text AS generation, l.ttl_ms, ${MARK} AS mark, ${REWOUND} AS rewound,
  ${AHEAD} AS ahead, ${FREE} AS free,
  CASE WHEN pg_catalog.isfinite(l.expires_at) THEN ${milliseconds('l.expires_at - pg_catalog.clock_timestamp()')}
    ELSE '0' END AS remaining_ms
FROM tenure.lease l CROSS JOIN cfg LEFT JOIN won ON won.election = l.election
WHERE l.election = $1`,
)

/**
 * $1 election, $2 session, $3 generation, $4 ttl ms, $5 lock timeout, $6 attempt timeout ms. No row: the tenure is
 * no longer in the store. A renewal says nothing of the server's memory, and leaves the lineage as it is: it may be
 * a late one, of a tenure that its own session has left behind.
 */
export const RENEW = `WITH cfg AS MATERIALIZED (
  SELECT ${settings('$5')}
), cur AS MATERIALIZED (
  SELECT l.election, l.expires_at
  FROM tenure.lease l CROSS JOIN cfg
  WHERE l.election = $1 AND l.session = $2::pg_catalog.uuid AND l.generation = $3::pg_catalog.int8
  FOR NO KEY UPDATE OF l
), t AS MATERIALIZED (
  SELECT pg_catalog.clock_timestamp() AS ts FROM cur
), kept AS (
  UPDATE tenure.lease l
  SET renewed_at = t.ts, expires_at = t.ts + ${interval('$4')}, ttl_ms = $4::pg_catalog.int4
  FROM cur, t
  WHERE l.election = cur.election AND l.session = $2::pg_catalog.uuid AND l.generation = $3::pg_catalog.int8
    AND cur.expires_at > t.ts AND ${inTime('$6')}
  RETURNING l.election
)
SELECT cur.expires_at > t.ts AS live, kept.election IS NOT NULL AS renewed
FROM cur CROSS JOIN t LEFT JOIN kept ON kept.election = cur.election`

/**
 * $1 election, $2 session, $3 generation, $4 lock timeout, $5 notification. Not bound to the attempt's time: a
 * release that commits late still releases that tenure and no other. No row: the tenure was no longer there.
 */
export const RELEASE = `WITH cfg AS MATERIALIZED (
  SELECT ${settings('$4')}
), freed AS (
  UPDATE tenure.lease l
  SET holder = NULL, session = NULL, expires_at = '-infinity',
    released_at = least(pg_catalog.clock_timestamp(), l.expires_at)
  FROM cfg
  WHERE l.election = $1 AND l.session = $2::pg_catalog.uuid AND l.generation = $3::pg_catalog.int8
  RETURNING l.released_at
)
SELECT pg_catalog.pg_notify('tenure', $5::pg_catalog.text), ${dateMs('freed.released_at')} AS at_ms FROM freed`

/** $1 election. Untargeted, so that both unique keys are covered. */
export const SEED = `INSERT INTO tenure.lease (election) VALUES ($1) ON CONFLICT DO NOTHING`

/** $1 election. */
export const CURRENT = `SELECT l.holder, l.session::pg_catalog.text AS session,
  l.generation::pg_catalog.text AS generation,
  CASE WHEN pg_catalog.isfinite(l.expires_at) THEN pg_catalog.to_char(
    pg_catalog.timezone('UTC', l.expires_at), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END AS expires_at,
  CASE WHEN pg_catalog.isfinite(l.expires_at) THEN ${milliseconds('l.expires_at - pg_catalog.clock_timestamp()')}
    ELSE '0' END AS remaining_ms
FROM tenure.lease l WHERE l.election = $1`
