/** A place in the graph of who waits for whom. */
export interface Waiting {
  readonly owner: string
  readonly holder: string
}

/**
 * Looks for a way from `start` back to itself. `waitsFor` names those whom an owner waits for; it is asked once
 * for each owner. Returns those along the shortest way, `start` first; null when there is none.
 */
export function findCycle(
  start: Waiting,
  waitsFor: (owner: string) => Iterable<Waiting>,
): readonly Waiting[] | null {
  const cameFrom = new Map<string, Waiting>()
  const looked = [start]
  // The list grows while it is walked: breadth first.
  for (const here of looked) {
    for (const next of waitsFor(here.owner)) {
      if (next.owner === start.owner) return wayTo(here, start, cameFrom)
      if (cameFrom.has(next.owner)) continue
      cameFrom.set(next.owner, here)
      looked.push(next)
    }
  }
  return null
}

function wayTo(end: Waiting, start: Waiting, cameFrom: ReadonlyMap<string, Waiting>): readonly Waiting[] {
  const way: Waiting[] = []
  for (let at: Waiting | undefined = end; at !== undefined; at = cameFrom.get(at.owner)) {
    way.push(at)
    if (at.owner === start.owner) break
  }
  return way.reverse()
}
