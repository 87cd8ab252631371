import { formatDuration } from '../../config/duration.ts'
import { advise, type Check, fault, ok, paste, skipped } from './check.ts'

const NAME = 'grace period'
/** From the end of the drain to the exit, promise included. */
const SHUTDOWN_WITHIN_MS = 1_500

/** Whether a shutdown ends before whoever asked for it loses patience. `graceMs` null: nobody told. */
export function checkGracePeriod(graceMs: number | null, drainMs: number): Check {
  if (graceMs === null) {
    return skipped(
      NAME,
      'give --grace-period with the time from SIGTERM to SIGKILL (terminationGracePeriodSeconds, TimeoutStopSec)',
    )
  }
  const needMs = drainMs + SHUTDOWN_WITHIN_MS
  const numbers = `drain ${drainMs} + ${SHUTDOWN_WITHIN_MS} = ${needMs} ms ≤ ${graceMs} ms`
  if (needMs <= graceMs) return ok(NAME, numbers)
  const longer = `set terminationGracePeriodSeconds: ${Math.ceil(needMs / 1_000)} (TimeoutStopSec= with systemd) or more`
  const leftMs = graceMs - SHUTDOWN_WITHIN_MS
  return fault(
    NAME,
    'misconfigured',
    `${numbers} does not hold`,
    'a sidecar that is killed in its shutdown releases nothing: the next leader then comes one ttl later',
    leftMs < 0
      ? advise(longer)
      : paste('flags', `--drain ${formatDuration(leftMs)}`, `${longer}, or drain for a shorter time`),
  )
}
