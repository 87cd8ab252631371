import pg from 'pg'
import { translate } from '../../../stores/postgres/errors.ts'
import { advise, type Check, fault, ok, skipped } from '../check.ts'
import type { Look } from './look.ts'

const NAME = 'writable'
const LOCK_WITHIN_MS = 2_000

/** In a row of its own that nobody ever sees, and that locks out nobody. */
const WRITES = [
  `INSERT INTO tenure.lease (election) VALUES ($1)`,
  `UPDATE tenure.lease SET holder = 'doctor', session = '00000000-0000-4000-8000-000000000000', generation = 1,
    expires_at = pg_catalog.clock_timestamp(), ttl_ms = 1 WHERE election = $1`,
]

/** Writes a row as a candidate does, and rolls it back. */
export async function checkWritable(look: Look): Promise<readonly Check[]> {
  const { facts, subject } = look
  if (facts.standby || facts.readOnly) return [skipped(NAME, 'the server takes no writes')]
  if (subject.config.values.observer) return [skipped(NAME, 'an observer writes nothing')]
  if (facts.missing.length > 0) return [skipped(NAME, 'not tried before the rights are there')]
  const election = `doctor ${subject.clock.uuid()}`
  const session = await look.another()
  try {
    await session.query('BEGIN ISOLATION LEVEL READ COMMITTED', [], look.signal)
    await session.query(`SET LOCAL lock_timeout = ${LOCK_WITHIN_MS}`, [], look.signal)
    for (const write of WRITES) await session.query(write, [election], look.signal)
    await session.query('ROLLBACK', [], look.signal)
    return [ok(NAME, 'a row could be written, and was rolled back')]
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    if (/statement pooling/.test(error.message)) return [skipped(NAME, 'the pooler takes no transactions')]
    return [refused(error)]
  } finally {
    // With a transaction still open the server rolls back.
    session.destroy()
  }
}

function refused(error: pg.DatabaseError): Check {
  const { kind, message } = translate(error)
  const advice =
    error.code === '55P03'
      ? 'somebody locks the whole table (a migration, VACUUM FULL, LOCK TABLE): find the session in pg_locks, and end it'
      : 'do what the message says'
  return fault(NAME, kind, message, 'a candidate can write leases', advise(advice))
}
