/** Keeps the validity of a tenure extended, for as long as the sidecar says "leading" under the same generation. */
import type { Look, Unled } from './answer.ts'
import { type Live, sameTenure } from './live.ts'
import { type Desk, look } from './look.ts'
import { pause } from './waiting.ts'

/** After a question without a use: soon again, and several times within what is left. */
const RETRY_PAUSE_MS = 50
const RETRY_SHARE = 1 / 4
/** The next question leaves when half of what was promised is left. */
const ASK_AGAIN_SHARE = 1 / 2
const PAUSE_LEAST_MS = 1

/**
 * Why a tenure is over for the application:
 * - `expired`: its validity ran out before another answer extended it;
 * - `not-leading`, `draining`, `drained`: said by the sidecar, or by this client, before that;
 * - `superseded`: this instance leads under another generation;
 * - `stale`: a fenced write was refused.
 */
export type LossReason = 'expired' | 'not-leading' | 'draining' | 'drained' | 'superseded' | 'stale'

export interface Loss {
  readonly reason: LossReason
  readonly message: string
}

/** A loss, and the look that told of it; null where no look did. */
export interface Over extends Loss {
  readonly look: Look | null
}

/** Returns when the tenure is over, or null once the signal is aborted. One question at a time: none overtakes another. */
export async function keep(desk: Desk, live: Live, signal: AbortSignal): Promise<Over | null> {
  const { clock, timeoutMs } = desk.settings
  let failed: Unled | null = null
  while (live.validForMs > 0) {
    await pause(clock, pauseMs(live, failed), signal)
    if (signal.aborted) return null
    const leftMs = live.validForMs
    if (leftMs <= 0) break
    const seen = await look(desk, { timeoutMs: Math.min(timeoutMs, leftMs), signal })
    if (signal.aborted) return null
    const ended = endOf(live, seen)
    if (ended !== null) return ended
    failed = seen.leading ? null : seen
  }
  return expired(failed)
}

function pauseMs(live: Live, failed: Unled | null): number {
  const leftMs = live.validForMs
  const ms = failed === null ? leftMs * ASK_AGAIN_SHARE : Math.min(RETRY_PAUSE_MS, leftMs * RETRY_SHARE)
  return Math.max(PAUSE_LEAST_MS, ms)
}

/** No answer ends nothing by itself: what was promised stays true until it runs out. */
function endOf(live: Live, seen: Look): Over | null {
  if (seen.leading) {
    if (!sameTenure(live.fence, seen.fence)) {
      return { reason: 'superseded', message: `generation ${seen.fence.generation} has begun`, look: seen }
    }
    return live.extend(seen) ? null : expired(null)
  }
  const { reason, message } = seen.check
  const said = reason === 'not-leading' || reason === 'draining' || reason === 'drained'
  return said ? { reason, message, look: seen } : null
}

function expired(failed: Unled | null): Over {
  const because = failed === null ? 'time went by unseen' : failed.check.message
  return { reason: 'expired', message: `the validity ran out: ${because}`, look: failed }
}
