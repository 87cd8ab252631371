/** Whether a wait would close a circle. */

import { findCycle, type Waiting } from './cycle.ts'
import type { ClaimPath } from './path.ts'
import type { Turn } from './turn.ts'
import type { Waiter } from './wait-queue.ts'

type Wait = Waiting & Pick<Waiter, 'behind'> & { readonly paths: readonly ClaimPath[] }

/**
 * Those who would wait for each other with this wait, the newcomer first; null when nobody would. A circle leads
 * through owners that wait, so that only these are asked for, however many claims they wait for.
 */
export function circleWith(newcomer: Wait, { table, queue }: Turn): readonly Waiting[] | null {
  const waits: Map<string, Wait[]> = Map.groupBy<string, Wait>(queue.all(), ({ owner }) => owner)
  const own = waits.get(newcomer.owner) ?? []
  // Nobody waits for who neither holds anything nor has a place in the queue.
  if (own.length === 0 && !table.holdsAny(newcomer.owner)) return null
  waits.set(newcomer.owner, [newcomer, ...own])
  const holding = [...waits.values()].flatMap(([first]) =>
    first !== undefined && table.holdsAny(first.owner) ? [first] : [],
  )
  return findCycle(newcomer, function* (owner) {
    for (const { behind, paths } of waits.get(owner) ?? []) {
      yield* behind
      for (const other of holding) {
        const inTheWay = other.owner !== owner && paths.some((path) => table.index.hasOf(path, other.owner))
        if (inTheWay) yield other
      }
    }
  })
}
