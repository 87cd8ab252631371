import { grantsFor, type Right } from '../../../stores/postgres/grants.ts'
import { type Check, fault, ok, paste } from '../check.ts'
import { askOne, type Look } from './look.ts'

/** Without these two an observer can still watch. */
const CANDIDATE_ONLY: readonly Right[] = ['write', 'seed']

/** What each right is, in PostgreSQL's words. */
const WORDS: Readonly<Record<Right, string>> = {
  usage: 'USAGE on the schema tenure',
  read: 'SELECT on tenure.lease',
  write: 'UPDATE on tenure.lease',
  seed: 'INSERT on tenure.lease',
  version: 'SELECT on tenure.migration',
}

/** What has_table_privilege says, which is asked at each connect. */
export async function checkRights(look: Look): Promise<readonly Check[]> {
  const { missing, role } = look.facts
  const { observer } = look.subject.config.values
  const needed = missing.filter((right) => !(observer && CANDIDATE_ONLY.includes(right)))
  const lacking =
    needed.includes('seed') && (await isSeeded(look)) ? needed.filter((right) => right !== 'seed') : needed
  if (lacking.length === 0)
    return [ok('rights', `${role} may do what ${observer ? 'an observer' : 'a candidate'} does`)]
  return [
    fault(
      'rights',
      'denied',
      `${role} lacks ${lacking.map((right) => WORDS[right]).join(', ')}`,
      'a candidate reads and writes leases, and reads the version of the schema',
      paste(
        'sql',
        lacking.map((right) => grantsFor([right], role)).join('\n'),
        'as the owner of the schema, or a superuser',
      ),
    ),
  ]
}

/** INSERT is used once for each new election: where every row is there, it is not needed. */
async function isSeeded(look: Look): Promise<boolean> {
  const { missing } = look.facts
  if (missing.includes('usage') || missing.includes('read')) return false
  const { elections } = look.subject.config.values
  const { count } = await askOne<{ count: number }>(
    look,
    'SELECT count(*)::pg_catalog.int4 AS count FROM tenure.lease WHERE election = ANY ($1)',
    [elections],
  )
  return count === elections.length
}
