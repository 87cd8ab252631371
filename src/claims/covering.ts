/** Whose is a path? */
import { type Claim, type ClaimView, viewOf } from './claim.ts'
import { type ClaimPath, readPath } from './path.ts'
import type { Turn } from './turn.ts'

export interface Covering {
  readonly epoch: string
  /**
   * - `own`: a claim of the asker is on the path or above it. Only then may it write there;
   * - `other`: a claim of somebody else overlaps, or the book cannot reason about the path;
   * - `free`: neither.
   */
  readonly verdict: 'own' | 'other' | 'free'
  /** The claim that decided; null where none did. */
  readonly claim: ClaimView | null
  /** The rule that the path breaks; null where it can be read. */
  readonly rule: string | null
}

export function covering(owner: string | null, text: string, turn: Turn): Covering {
  const path = readPath(text, turn.rules)
  if (typeof path === 'string') return bad(path, turn)
  const [other] = turn.table.index.overlapping(path, owner)
  if (other !== undefined) return verdict('other', other, turn)
  const own = owner === null ? undefined : claimAbove(path, owner, turn)
  return own === undefined ? verdict('free', null, turn) : verdict('own', own, turn)
}

/** The same for a label: several owners may bear it, and any of them will do. */
export function coveringLabel(holder: string, text: string, turn: Turn): Covering {
  const path = readPath(text, turn.rules)
  if (typeof path === 'string') return bad(path, turn)
  for (const claim of turn.table.index.overlapping(path, null)) {
    if (claim.holder !== holder) return verdict('other', claim, turn)
  }
  const [own] = [...turn.table.index.above(path)].toReversed()
  return own === undefined ? verdict('free', null, turn) : verdict('own', own, turn)
}

/** The owner's claim that lies closest above the path, the newest of several there. */
export function claimAbove(path: ClaimPath, owner: string, { table }: Turn): Claim | undefined {
  return [...table.index.above(path)].findLast((claim) => claim.owner === owner)
}

function verdict(verdict: Covering['verdict'], claim: Claim | null, turn: Turn): Covering {
  return { epoch: turn.epoch, verdict, claim: claim && viewOf(claim, turn.nowMs), rule: null }
}

function bad(rule: string, { epoch }: Turn): Covering {
  return { epoch, verdict: 'other', claim: null, rule }
}
