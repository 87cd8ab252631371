/** The strict guard for applications whose data are in SQLite, on the host of a sidecar with the embedded store. */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../clock/clock.ts'
import { sharedClock } from '../../clock/system-clock.ts'
import type { Fence, Fenced, Stale, Standing } from '../fence.ts'
import { LeaseFile } from './lease-file.ts'
import { fencedTransaction, refuseOpenTransaction, runWrite } from './transaction.ts'

/**
 * Runs `write` in a transaction of `database` that is committed before any takeover, or not at all.
 *
 * `leasePath` is the sidecar's file; it may be that of `database` itself. While the transaction is open, nothing of
 * Tenure can be written to that file, renewals included: keep it much shorter than ttl − margin − renew-every.
 *
 * Nothing else in this process may open that file, not even to copy it: its closing drops every lock that the
 * process has on it (POSIX), the one that this guard rests on included.
 *
 * `write` runs only where the lease names the fence's session and generation, and has not run out by `clock`. It is synchronous, begins and ends no
 * transaction, attaches nothing, and leaves no iterator open. What it throws is thrown on, with nothing written.
 *
 * @throws what SQLite throws, with nothing written: "database is locked" where the connection's own `timeout` was
 * shorter than another's transaction.
 */
export function guardSqlite<T>(
  database: DatabaseSync,
  leasePath: string,
  fence: Fence,
  write: () => T,
  clock: Clock = sharedClock(),
): Fenced<T> {
  refuseOpenTransaction(database)
  const lease = LeaseFile.open(database, leasePath)
  let result: Fenced<T>
  try {
    result = fencedTransaction(database, () =>
      writeUnder(lease, { fence, clock }, () => runWrite(database, write)),
    )
  } catch (error) {
    lease.abandon()
    throw error
  }
  lease.close()
  return result
}

interface Asking {
  readonly fence: Fence
  readonly clock: Clock
}

function writeUnder<T>(lease: LeaseFile, { fence, clock }: Asking, write: () => T): Fenced<T> {
  const { leads, current } = lease.look(fence, clock)
  if (!leads) return stale(current)
  const value = write()
  // Under a file that is no longer there, nobody waited. What the new one says, the next write learns.
  return lease.isAtPath() ? { ok: true, value } : stale(null)
}

function stale(current: Standing | null): Stale {
  return { ok: false, reason: 'stale', current }
}
