/** Granting: all paths of a request, or none. */
import { type Asker, AT_ONCE, type BlockerViews, isBlockedAtOnce, viewBlockers } from './blockers.ts'
import { type ClaimView, viewOf } from './claim.ts'
import type { Grant } from './claim-table.ts'
import { type BadPath, type ClaimPath, distinct, readPath } from './path.ts'
import type { Turn } from './turn.ts'

export interface Request extends Grant {
  readonly paths: readonly string[]
}

export interface Granted {
  readonly granted: true
  readonly epoch: string
  readonly holder: string
  /** One for each path, a path given twice once. */
  readonly claims: readonly ClaimView[]
}

/**
 * Nothing was granted, and nothing changed. Whatever the reason, what stands in the way is named.
 *
 * - `conflict`: claims of others, or waits that began earlier, overlap;
 * - `bad_path`: the book cannot reason about a path;
 * - `too_many_claims`: the book is full.
 */
export interface Refused extends BlockerViews {
  readonly granted: false
  readonly epoch: string
  readonly reason: 'conflict' | 'bad_path' | 'too_many_claims'
  readonly badPaths: readonly BadPath[]
}

export function acquire(request: Request, turn: Turn): Granted | Refused {
  const { paths, badPaths } = readPaths(request.paths, turn)
  const asker = { owner: request.owner, paths, order: AT_ONCE }
  if (badPaths.length > 0) return refuse('bad_path', asker, turn, badPaths)
  if (isBlockedAtOnce(request.owner, paths, turn)) return refuse('conflict', asker, turn)
  return grantAll(request, paths, turn)
}

interface Read {
  readonly paths: readonly ClaimPath[]
  readonly badPaths: readonly BadPath[]
}

export function readPaths(texts: readonly string[], { rules }: Turn): Read {
  const paths: ClaimPath[] = []
  const badPaths: BadPath[] = []
  for (const text of texts) {
    const path = readPath(text, rules)
    if (typeof path === 'string') badPaths.push({ path: text, rule: path })
    else paths.push(path)
  }
  return { paths: distinct(paths), badPaths }
}

export function refuse<R extends string>(
  reason: R,
  asker: Asker | null,
  turn: Turn,
  badPaths: readonly BadPath[] = [],
) {
  return {
    granted: false as const,
    epoch: turn.epoch,
    reason,
    badPaths,
    ...viewBlockers(asker, turn),
  }
}

/** Grants what nothing stands in the way of. */
export function grantAll(grant: Grant, paths: readonly ClaimPath[], turn: Turn) {
  const { table, queue, nowMs, epoch } = turn
  const more = paths.filter((path) => (table.held(grant.owner, path)?.pins.size ?? 1) > 0).length
  if (table.size + more > turn.claimsMost) return refuse('too_many_claims', null, turn)
  const claims = paths.map((path) => viewOf(table.grant(path, grant, nowMs), nowMs))
  // Whoever waits and now holds something may have to give the wait up.
  for (const waiter of queue.of(grant.owner)) turn.stirred.add(waiter)
  return { granted: true as const, epoch, holder: grant.holder, claims }
}
