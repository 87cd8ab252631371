import type { Merged } from './merge.ts'

/** What the setting is read with; null where a value is missing. */
interface Beside {
  readonly elections: readonly string[]
  readonly claims: boolean | null
  readonly observer: boolean | null
}

/** The election that must be led for claims to be kept; null where none is, or where a fault was noted. */
export function readClaimsElection(merged: Merged, { elections, claims, observer }: Beside): string | null {
  const named = merged.value('claims-while-leading')
  if (named === null) return null
  const fault = (rule: string, remedy: string): null => {
    merged.fault(merged.origin('claims-while-leading')?.text ?? 'claims-while-leading', rule, remedy)
    return null
  }
  const names = elections.map((name) => JSON.stringify(name)).join(', ')
  if (claims === false) return fault('no claims are kept without --claims', 'add --claims, or leave this out')
  if (observer === true) return fault('an observer never leads', 'leave this out, or leave --observer out')
  if (named === true) {
    const [only, ...others] = elections
    if (only !== undefined && others.length === 0) return only
    return fault(`it does not say which election (${names})`, 'write --claims-while-leading=NAME')
  }
  if (elections.includes(named)) return named
  return fault(`the election ${JSON.stringify(named)} does not run here`, `name one of ${names}`)
}
