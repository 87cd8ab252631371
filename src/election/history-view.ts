/** What is told of tenures: rows of a store, read together with the lease and with what this process saw. */
import { HISTORY_MOST } from './history.ts'
import { ENDINGS, type Ending, type TenureRecord } from './status.ts'

/** A tenure as a store has it, and what the lease says of it. Times: milliseconds since 1970. */
export interface StoredTenure {
  readonly holder: string | null
  readonly generation: number
  readonly fromMs: number
  readonly untilMs: number | null
  readonly reason: string | null
  readonly leaderlessMs: number | null
  /** Whether the lease is still its own, or how that ended; `past` where the lease tells of another tenure. */
  readonly lease: 'held' | 'released' | 'expired' | 'past'
}

/**
 * Rows of a store, the oldest first, as they are told. A tenure that its successor wrote down has not said how long
 * nobody led before it; right behind the generation before, the rows themselves say it.
 */
export function recordsOf(stored: readonly StoredTenure[]): readonly TenureRecord[] {
  return stored.map((row, i) => {
    const record = recordOf(row)
    const last = stored[i - 1]
    if (record.leaderlessMs !== null || last?.generation !== record.generation - 1) return record
    const leaderlessMs = last.untilMs === null ? -1 : record.fromMs - last.untilMs
    return leaderlessMs < 0 ? record : { ...record, leaderlessMs }
  })
}

/** A holder that drains has said why it will end; nobody is told before it did. */
function recordOf(stored: StoredTenure): TenureRecord {
  const { holder, generation, fromMs, untilMs, leaderlessMs, lease } = stored
  if (lease === 'held') return { holder, generation, fromMs, untilMs: null, reason: null, leaderlessMs }
  const how = lease === 'past' ? 'unknown' : lease
  const reason = stored.reason === null ? how : endingOf(stored.reason)
  return { holder, generation, fromMs, untilMs, reason, leaderlessMs }
}

/** A newer Tenure may know more reasons than this one. */
function endingOf(text: string): Ending {
  return ENDINGS.find((one) => one === text) ?? 'unknown'
}

/**
 * The store's tenures, with what this process knows and the store does not yet: why its own ended, and tenures newer
 * than the last that was written down.
 */
export function withSeen(
  stored: readonly TenureRecord[],
  seen: readonly TenureRecord[],
): readonly TenureRecord[] {
  const newest = stored.at(-1)?.generation ?? 0
  const newer = seen.filter(({ generation }) => generation > newest)
  const known = stored.map((record) => {
    const isPast = record.reason === null && newer.length > 0
    return explained(isPast ? { ...record, reason: 'unknown' } : record, seen)
  })
  return [...known, ...newer].slice(-HISTORY_MOST)
}

const UNEXPLAINED: ReadonlySet<Ending | null> = new Set(['expired', 'released', 'unknown'] as const)

function explained(record: TenureRecord, seen: readonly TenureRecord[]): TenureRecord {
  if (!UNEXPLAINED.has(record.reason)) return record
  const own = seen.find(({ generation }) => generation === record.generation)
  return own === undefined || own.reason === null || own.reason === 'seen'
    ? record
    : { ...record, reason: own.reason }
}
