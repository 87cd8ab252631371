/** The guards, for a transaction that is open: each is to be the first statement that reads or writes in it. */
import { assertFence } from '../check.ts'
import { type Fence, type Fenced, fenceSetting } from '../fence.ts'
import type { Connection } from './connection.ts'
import { catchStale } from './stale.ts'

const GUARD = 'SELECT tenure.guard($1, $2::pg_catalog.uuid, $3::pg_catalog.int8)'
const GUARD_RESOURCE = 'SELECT tenure.guard_resource($1, $2::pg_catalog.uuid, $3::pg_catalog.int8)'
/** What a guard says that lets through. */
const PASSED = { ok: true, value: undefined } as const
const SET_FENCE = `SELECT pg_catalog.set_config('tenure.fence', $1, true)`

/**
 * The strict guard. When stale, PostgreSQL lets the transaction do nothing more: roll it back.
 *
 * A takeover waits for the transaction, which is therefore bounded by the ttl: after that the server ends it, and
 * the connection. A rollback to a savepoint that is older than the guard drops the guard: ask it first.
 *
 * @throws TypeError for a fence that is none; what the driver throws, `40001` under REPEATABLE READ included.
 */
export async function guard(connection: Connection, fence: Fence): Promise<Fenced<void>> {
  assertFence(fence)
  return catchStale(async () => {
    await connection.query(GUARD, [fence.election, fence.session, String(fence.generation)])
    return PASSED
  })
}

/**
 * The high-water guard, for other databases and for long transactions: refuses once a higher generation has written
 * to one of the resources. The first write of a new tenure should come early. As for `guard` otherwise.
 */
export async function guardResources(
  connection: Connection,
  fence: Fence,
  resources: readonly string[],
): Promise<Fenced<void>> {
  assertFence(fence)
  if (!Array.isArray(resources) || resources.length === 0) {
    throw new TypeError('resources is no list of names: name at least one')
  }
  return catchStale(async () => {
    // In one order everywhere, so that two transactions never wait for each other.
    for (const resource of [...new Set(resources)].sort()) {
      await connection.query(GUARD_RESOURCE, [resource, fence.session, String(fence.generation)])
    }
    return PASSED
  })
}

/**
 * Says for this transaction under which tenure it writes to tables with a table guard, which refuse their own
 * writes with an error: see `staleOf`.
 */
export async function setFence(connection: Connection, fence: Fence): Promise<Fenced<void>> {
  assertFence(fence)
  await connection.query(SET_FENCE, [fenceSetting(fence)])
  return PASSED
}
