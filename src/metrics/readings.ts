/** What a scrape reads off one election. */
import { STATES, type State, type Status } from '../election/status.ts'

const MS_PER_S = 1_000

/** 1 while this instance may act. */
export function isLeader(status: Status): number {
  return status.leading ? 1 : 0
}

/**
 * 1 while somebody is known to hold a lease that has not run out. Where the store does not tell what is left, a
 * holder counts for one ttl after it was seen.
 */
export function hasLeader(status: Status, ttlMs: number): number {
  const { leading, draining } = status
  if (leading || (draining !== null && draining.leaseRemainingMs > 0)) return 1
  return seenHolder(status, ttlMs) === null ? 0 : 1
}

/**
 * 1 while the lease is held under our own identity, and not by us: by a twin, or by what this instance was before.
 * That is over within one ttl; a twin stays.
 */
export function hasTwin(status: Status, ttlMs: number): number {
  const { leading, draining, identity } = status
  if (leading || draining !== null) return 0
  return seenHolder(status, ttlMs) === identity ? 1 : 0
}

/** The label of whoever was last seen to hold a lease that has not run out; null when nobody does. */
function seenHolder({ current }: Status, ttlMs: number): string | null {
  if (current === null) return null
  const leftMs = current.expiresInMs ?? ttlMs - current.observedAgeMs
  return leftMs > 0 ? current.holder : null
}

/** The generation held, or else the last one seen; 0 before any. */
export function generationOf({ generation, draining, current }: Status): number {
  return generation ?? draining?.generation ?? current?.generation ?? 0
}

/** What is left of our own lease until act-until; 0 when we hold none. */
export function leaseRemainingS({ leading, actForMs, draining }: Status): number {
  return (leading ? actForMs : (draining?.leaseRemainingMs ?? 0)) / MS_PER_S
}

/** Seconds since 1970; 0 before the store first answered. */
export function lastSuccessS({ store }: Status, dateMs: number): number {
  return store.lastSuccessAgoMs === null ? 0 : (dateMs - store.lastSuccessAgoMs) / MS_PER_S
}

/** 1 for the present state, 0 for every other. */
export function stateReadings(status: Status | null): readonly (readonly [State, number])[] {
  return STATES.map((state) => [state, status?.state === state ? 1 : 0])
}
