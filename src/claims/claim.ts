/** One claim: a path, held by one holder under one claim generation. And how claims are told to others. */

import type { ClaimPath } from './path.ts'
import type { Placed } from './path-index.ts'

/** Work that runs under a claim, and keeps that claim generation alive meanwhile. */
export interface Pin {
  /** Proves the pin; nothing else ends it before its time. */
  readonly token: string
  readonly claim: Claim
  readonly sinceMs: number
  /** When it ends by itself; null: never. */
  readonly untilMs: number | null
}

/** How a claim ended that its pins keep alive; `expired` is judged by the clock alone. */
export type Ended = 'released' | 'replaced'

export interface Claim extends Placed {
  readonly path: ClaimPath
  /** Who may refresh and release it. */
  readonly owner: string
  /** Label of the owner. */
  readonly holder: string
  /** Grows with every grant in the book; a refresh is a new claim generation. */
  readonly claimGeneration: number
  /** Since when the owner has held the path without a break. */
  readonly heldSinceMs: number
  readonly ttlMs: number
  readonly expiresAtMs: number
  readonly pins: Set<Pin>
  ended: Ended | null
}

/** Whether the claim holds by its own right, and not by its pins alone. */
export function isCurrent(claim: Claim, nowMs: number): boolean {
  return claim.ended === null && nowMs < claim.expiresAtMs
}

/** The earliest moment at which the claim can end by itself; infinite while a pin without an end keeps it. */
export function endsAtMs(claim: Claim): number {
  const own = claim.ended === null ? claim.expiresAtMs : 0
  return Math.max(own, ...[...claim.pins].map(({ untilMs }) => untilMs ?? Number.POSITIVE_INFINITY))
}

/** A claim as others are told of it: a copy. Times in whole milliseconds. */
export interface ClaimView {
  /** As given. */
  readonly path: string
  readonly holder: string
  readonly claimGeneration: number
  readonly ttlMs: number
  /** For how long the holder has held the path without a break. */
  readonly heldForMs: number
  /** 0 once only pins keep it alive. */
  readonly expiresInMs: number
  readonly pins: number
  /** What takes effect when the last pin goes; null while the claim holds by its own right. */
  readonly ends: 'expired' | Ended | null
}

export function viewOf(claim: Claim, nowMs: number): ClaimView {
  const current = isCurrent(claim, nowMs)
  return {
    path: claim.path.text,
    holder: claim.holder,
    claimGeneration: claim.claimGeneration,
    ttlMs: claim.ttlMs,
    heldForMs: gone(nowMs - claim.heldSinceMs),
    expiresInMs: current ? left(claim.expiresAtMs - nowMs) : 0,
    pins: claim.pins.size,
    ends: current ? null : (claim.ended ?? 'expired'),
  }
}

/** Time left, in whole milliseconds: never more than there is. */
export function left(ms: number): number {
  return Math.max(0, Math.floor(ms))
}

/** Time gone by, in whole milliseconds: never less than it was. */
export function gone(ms: number): number {
  return Math.max(0, Math.ceil(ms))
}
