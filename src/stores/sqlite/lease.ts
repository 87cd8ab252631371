/**
 * What a row means: pure functions of the row, the clock and what was observed.
 *
 * Times are written rounded up and judged rounded down, and a lease is kept one step of the boot clock longer than
 * its ttl, so that it is never judged expired early.
 */
import type { Candidate, LeaseView } from '../store.ts'
import type { Row } from './statements.ts'

/** The step of Linux's boot clock as files and processes see it. */
const CLOCK_STEP_MS = 10

/** The boot clock of this process. */
export interface BootTime {
  readonly bootMs: number
  readonly clockId: string
}

/** Whether a lease may be taken, and what is known about the time around it. */
export type Standing =
  | { readonly free: true; readonly leaderlessMs: number | null }
  | { readonly free: false; readonly remainingMs: number }

/**
 * Whether `session` may take the lease. `unchangedMs`: for how long the row was seen as it is.
 *
 * Where the row's expiry cannot be compared, or cannot be right, its holder counts as gone once the row has been seen
 * unchanged for one whole ttl of its own.
 */
export function standingOf(row: Row | null, session: string, time: BootTime, unchangedMs: number): Standing {
  if (row === null) return { free: true, leaderlessMs: null }
  if (row.session === null || row.session === session) return { free: true, leaderlessMs: idleMs(row, time) }
  const observedLeftMs = Math.ceil(row.ttlMs - unchangedMs)
  if (isComparable(row, time)) {
    const leftMs = leaseLeftMs(row, time)
    if (leftMs <= 0) return { free: true, leaderlessMs: idleMs(row, time) }
    if (!liesTooFarAhead(row, time)) return { free: false, remainingMs: leftMs }
    if (observedLeftMs > 0) return { free: false, remainingMs: Math.min(leftMs, observedLeftMs) }
  }
  if (observedLeftMs > 0) return { free: false, remainingMs: observedLeftMs }
  return { free: true, leaderlessMs: null }
}

/** Whether the tenure of `session` under `generation` lives on the clock that it was written by. */
export function isLive(row: Row | null, session: string, generation: number, time: BootTime): row is Row {
  return isNamed(row, session, generation) && isComparable(row, time) && leaseLeftMs(row, time) > 0
}

/** Whether the row names this tenure, expired or not. */
export function isNamed(row: Row | null, session: string, generation: number): row is Row {
  return row !== null && row.session === session && row.generation === generation
}

/** The row of a new tenure. */
export function acquired(
  old: Row | null,
  who: Candidate,
  generation: number,
  ttlMs: number,
  time: BootTime,
): Row {
  const nowMs = Math.ceil(time.bootMs)
  return {
    generation,
    holder: who.identity,
    session: who.session,
    ttlMs,
    clockId: time.clockId,
    acquiredBootMs: nowMs,
    renewedBootMs: nowMs,
    expiresBootMs: nowMs + ttlMs + CLOCK_STEP_MS,
    releasedBootMs: null,
    writes: (old?.writes ?? 0) + 1,
  }
}

export function renewed(row: Row, ttlMs: number, time: BootTime): Row {
  const nowMs = Math.ceil(time.bootMs)
  return {
    ...row,
    ttlMs,
    renewedBootMs: nowMs,
    expiresBootMs: nowMs + ttlMs + CLOCK_STEP_MS,
    writes: row.writes + 1,
  }
}

/** Nobody held an expired lease from its expiry on, whenever it was released. */
export function released(row: Row, time: BootTime): Row {
  const nowMs = Math.floor(time.bootMs)
  return {
    ...row,
    holder: null,
    session: null,
    releasedBootMs: isComparable(row, time) ? Math.min(nowMs, row.expiresBootMs) : null,
    writes: row.writes + 1,
  }
}

/** As stored, for people. `dateMs`: the wall clock now. */
export function viewOf(row: Row, time: BootTime, dateMs: number): LeaseView {
  const { holder, session, generation } = row
  if (session === null) return { holder, session, generation, expiresAt: null, remainingMs: 0 }
  if (!isComparable(row, time)) return { holder, session, generation, expiresAt: null, remainingMs: null }
  const leftMs = leaseLeftMs(row, time)
  const expiresAt = new Date(dateMs + leftMs).toISOString()
  return { holder, session, generation, expiresAt, remainingMs: Math.max(0, leftMs) }
}

/** Changes with every write of the row. */
export function markOf(row: Row): string {
  return `${row.writes} ${row.generation} ${row.session} ${row.clockId} ${row.renewedBootMs} ${row.expiresBootMs}`
}

function isComparable(row: Row, time: BootTime): boolean {
  return row.clockId === time.clockId
}

function leaseLeftMs(row: Row, time: BootTime): number {
  return row.expiresBootMs - Math.floor(time.bootMs)
}

/** Whether the clock must have gone back since the row was written. */
function liesTooFarAhead(row: Row, time: BootTime): boolean {
  return row.renewedBootMs > Math.ceil(time.bootMs) || leaseLeftMs(row, time) > row.ttlMs + 2 * CLOCK_STEP_MS
}

/** How long nobody has held the lease; null where the clocks cannot tell. */
function idleMs(row: Row, time: BootTime): number | null {
  if (!isComparable(row, time)) return null
  const since = row.session === null ? row.releasedBootMs : row.expiresBootMs
  return since === null ? null : Math.max(0, Math.floor(time.bootMs) - since)
}
