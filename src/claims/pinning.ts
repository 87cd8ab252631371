/** Pins: work that runs keeps the claim generation alive that it began under. */
import { type ClaimView, type Ended, isCurrent, left, type Pin, viewOf } from './claim.ts'
import { claimAbove } from './covering.ts'
import { PINS_MOST } from './limits.ts'
import { readPath } from './path.ts'
import type { Turn } from './turn.ts'

/** `not_held`: no claim of the asker that is in force is on the path or above it. */
export type Pinned =
  | {
      readonly pinned: true
      readonly epoch: string
      /** Proves the pin: what the unpin takes. */
      readonly pin: string
      /** When the pin ends by itself; null: never. */
      readonly endsInMs: number | null
      readonly claim: ClaimView
    }
  | { readonly pinned: false; readonly epoch: string; readonly reason: 'not_held' | 'too_many_pins' }

/** `unknown`: the pin has ended, or belongs to another book. Nothing was changed. */
export type Unpinned =
  | {
      readonly unpinned: true
      readonly epoch: string
      /** What took effect with this unpin; null while the claim, or another pin on it, goes on. */
      readonly ended: 'expired' | Ended | null
    }
  | { readonly unpinned: false; readonly epoch: string; readonly reason: 'unknown' }

/** Pins the claim closest above the path; `forMs` null: until the unpin. */
export function pin(owner: string, text: string, forMs: number | null, turn: Turn): Pinned {
  const { epoch, nowMs, pins } = turn
  const path = readPath(text, turn.rules)
  const claim = typeof path === 'string' ? undefined : claimAbove(path, owner, turn)
  // What only pins keep alive takes no new one, or a chain of them would hold a path for ever.
  if (claim === undefined || !isCurrent(claim, nowMs)) return { pinned: false, epoch, reason: 'not_held' }
  if (pins.size >= PINS_MOST) return { pinned: false, epoch, reason: 'too_many_pins' }
  const untilMs = forMs === null ? null : nowMs + forMs
  const made: Pin = { token: turn.uuid(), claim, sinceMs: nowMs, untilMs }
  pins.add(made)
  const endsInMs = untilMs === null ? null : left(untilMs - nowMs)
  return { pinned: true, epoch, pin: made.token, endsInMs, claim: viewOf(claim, nowMs) }
}

/** Ends a pin. With the last one of a claim its expiry or release takes effect. */
export function unpin(token: string, turn: Turn): Unpinned {
  const { epoch, nowMs, pins, table } = turn
  const found = pins.find(token)
  if (found === undefined) return { unpinned: false, epoch, reason: 'unknown' }
  const { claim } = found
  pins.remove(found)
  if (!table.settle(claim, nowMs)) return { unpinned: true, epoch, ended: null }
  turn.freed.push(claim.path)
  return { unpinned: true, epoch, ended: claim.ended ?? 'expired' }
}
