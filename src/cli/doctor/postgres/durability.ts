/** Whether the server keeps what it has committed, also through a crash and a promotion. */
import { type Check, fault, ok, paste, skipped, warning } from '../check.ts'
import { askOne, type Look } from './look.ts'

const RELOAD = 'SELECT pg_catalog.pg_reload_conf();'

export async function checkDurability(look: Look): Promise<readonly Check[]> {
  const set = await askOne<Record<string, string>>(
    look,
    `SELECT pg_catalog.current_setting('fsync') AS fsync, pg_catalog.current_setting('full_page_writes') AS full_page_writes`,
  )
  const off = Object.entries(set).filter(([, value]) => value === 'off')
  if (off.length === 0)
    return [
      ok(
        'durability',
        'commits are on disk when they are reported: each statement forces synchronous_commit = on',
      ),
    ]
  return off.map(([name]) =>
    warning(
      'durability',
      `${name} is off`,
      'the server keeps its committed writes: after a crash of its host, generations may repeat, or the lease be gone',
      paste('sql', `ALTER SYSTEM SET ${name} = on;\n${RELOAD}`, 'as a superuser'),
    ),
  )
}

interface Replicas {
  readonly count: number
  readonly synchronous: number
  /** Whether this role is told which of them are synchronous. */
  readonly told: boolean
  readonly names: string
}

/** Logical subscribers are no standbys. */
const QUESTION = `SELECT count(*)::pg_catalog.int4 AS count,
  count(*) FILTER (WHERE r.sync_state IN ('sync', 'quorum'))::pg_catalog.int4 AS synchronous,
  pg_catalog.bool_and(r.sync_state IS NOT NULL) IS NOT FALSE AS told,
  pg_catalog.current_setting('synchronous_standby_names') AS names
FROM pg_catalog.pg_stat_replication r
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')`

export async function checkReplicas(look: Look): Promise<readonly Check[]> {
  if (look.facts.standby) return [skipped('replicas', 'asked on the primary only')]
  const { count, synchronous, told, names } = await askOne<Replicas & Record<string, unknown>>(look, QUESTION)
  if (names === '') return [count === 0 ? ok('replicas', 'there is no standby') : asynchronous(count)]
  if (count === 0 || (told && synchronous === 0)) return [hanging(names)]
  return [ok('replicas', `commits wait for a standby (synchronous_standby_names = '${names}')`)]
}

function asynchronous(count: number): Check {
  return warning(
    'replicas',
    `${count === 1 ? 'a standby follows' : `${count} standbys follow`} asynchronously`,
    'a promotion forgets nothing: an asynchronous standby has not received the last commits, and its promotion forgets the renewals and tenures in them; the next tenure then waits for one ttl, and its generation jumps by 2^20',
    paste(
      'sql',
      `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)';\n${RELOAD}`,
      'as a superuser; with a single standby its outage stops all commits of the server: have two, or accept what may be forgotten and fence every write by generation and session',
    ),
  )
}

function hanging(names: string): Check {
  return fault(
    'replicas',
    'unavailable',
    `commits wait for a standby (synchronous_standby_names = '${names}'), and none of them is there`,
    'a commit comes to an end: until a standby is back, nobody can acquire or renew',
    paste(
      'sql',
      `ALTER SYSTEM SET synchronous_standby_names = '';\n${RELOAD}`,
      'start the standby; only where there is none any more, as a superuser, stop waiting for it',
    ),
  )
}
