import type { ElectionHandle } from './elections.ts'
import { Problem } from './problem.ts'

/** The part of a request target before its query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/**
 * Reads the query of a request target. A parameter that is unknown, or given twice, is refused: a misspelt
 * `after` that went by unnoticed would turn a long poll into a busy loop.
 */
export function readQuery(url: string, known: readonly string[]): ReadonlyMap<string, string> {
  const end = url.indexOf('?')
  const found = new Map<string, string>()
  if (end === -1) return found
  for (const [name, value] of new URLSearchParams(url.slice(end + 1))) {
    if (!known.includes(name)) {
      const remedy = known.length === 0 ? 'this path takes none' : `this path takes ${known.join(', ')}`
      throw new Problem(400, 'unknown_parameter', `query parameter ${JSON.stringify(name)}: ${remedy}`)
    }
    if (found.has(name)) {
      throw new Problem(400, 'repeated_parameter', `query parameter ${name} is given twice: give it once`)
    }
    found.set(name, value)
  }
  return found
}

/** The election that a query names; without a name, the only one. */
export function chooseElection<E extends Pick<ElectionHandle, 'name'>>(
  elections: readonly E[],
  name: string | undefined,
): E {
  const names = elections.map((one) => one.name).join(', ')
  if (name === undefined) {
    const [only, ...others] = elections
    if (only !== undefined && others.length === 0) return only
    throw new Problem(
      400,
      'election_required',
      `this sidecar runs several elections (${names}): add ?election=NAME with one of them`,
    )
  }
  const named = elections.find((one) => one.name === name)
  if (named !== undefined) return named
  throw new Problem(
    404,
    'unknown_election',
    `election ${JSON.stringify(name)} does not run here: ask for one of ${names}`,
  )
}
