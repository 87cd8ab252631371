/** Giving back. */

import { endWait } from './attempt.ts'
import type { Claim } from './claim.ts'
import { readPath } from './path.ts'
import type { Turn } from './turn.ts'

/** What a release did, with the paths as they were claimed. */
export interface Released {
  readonly epoch: string
  /** Free from now on. */
  readonly released: readonly string[]
  /** Given back, and kept alive by pins: free at the last unpin. */
  readonly deferred: readonly string[]
  /** As asked for: the owner has no claim on exactly this path. Nothing was done about it. */
  readonly notHeld: readonly string[]
  /** How many waits ended. */
  readonly waitsEnded: number
}

/**
 * Releases claims of the owner on exactly these paths; null: all of them. A claim above or below a path that is
 * named is a claim of its own, and stays.
 */
export function release(owner: string, paths: readonly string[] | null, turn: Turn): Released {
  const { table } = turn
  if (paths === null) return releaseClaims(table.heldBy(owner), [], 0, turn)
  const claims = new Set<Claim>()
  const notHeld: string[] = []
  for (const text of paths) {
    const path = readPath(text, turn.rules)
    const claim = typeof path === 'string' ? undefined : table.held(owner, path)
    if (claim === undefined) notHeld.push(text)
    else claims.add(claim)
  }
  return releaseClaims([...claims], notHeld, 0, turn)
}

/** The owners are gone: their claims are released, and their waits end. */
export function releaseOwners(owners: readonly string[], turn: Turn): Released {
  const waiters = owners.flatMap((owner) => turn.queue.of(owner))
  for (const waiter of waiters) endWait(waiter, turn)
  const claims = owners.flatMap((owner) => turn.table.heldBy(owner))
  return releaseClaims(claims, [], waiters.length, turn)
}

/** Everybody is gone. */
export function releaseAll(turn: Turn): Released {
  const waiting = [...turn.queue.all()].map(({ owner }) => owner)
  return releaseOwners([...new Set([...turn.table.owners(), ...waiting])], turn)
}

function releaseClaims(
  claims: readonly Claim[],
  notHeld: readonly string[],
  waitsEnded: number,
  turn: Turn,
): Released {
  const released: string[] = []
  const deferred: string[] = []
  for (const claim of claims) {
    const { path } = claim
    if (turn.table.end(claim, 'released')) {
      released.push(path.text)
      turn.freed.push(path)
    } else deferred.push(path.text)
  }
  return { epoch: turn.epoch, released, deferred, notHeld, waitsEnded }
}
