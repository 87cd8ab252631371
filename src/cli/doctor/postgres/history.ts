import { historyGrantFor } from '../../../stores/postgres/grants.ts'
import { type Check, ok, paste, warning } from '../check.ts'
import { askOne, type Look } from './look.ts'

const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const
const NAME = 'history'

/** No lease depends on it. A schema that lacks the table is told with the schema. */
export async function checkHistory(look: Look): Promise<readonly Check[]> {
  if (look.subject.config.values.observer || look.facts.missing.includes('usage')) return []
  const { there, lacking } = await askOne<{ there: boolean; lacking: string }>(
    look,
    `SELECT h.oid IS NOT NULL AS there, (
      SELECT coalesce(pg_catalog.string_agg(r, ', '), '') FROM pg_catalog.unnest($1::pg_catalog.text[]) r
      WHERE NOT pg_catalog.has_table_privilege(h.oid, r)) AS lacking
    FROM (SELECT pg_catalog.to_regclass('tenure.history')::pg_catalog.oid AS oid) h`,
    [RIGHTS],
  )
  if (!there) return []
  if (lacking === '') return [ok(NAME, 'tenures can be written down')]
  return [
    warning(
      NAME,
      `${look.facts.role} lacks ${lacking} on tenure.history`,
      'a candidate writes its tenures down: without it elections work, and each process remembers only what it saw',
      paste('sql', historyGrantFor(look.facts.role), 'as the owner of the schema, or a superuser'),
    ),
  ]
}
