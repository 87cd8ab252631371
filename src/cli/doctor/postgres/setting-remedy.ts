import { advise, paste, type Remedy } from '../check.ts'
import { sqlName } from '../quote.ts'
import { askOne, type Look } from './look.ts'

/** Puts a setting right for our role in our database, which goes before what the role, the database or the server have. */
export async function settingRemedy(look: Look, name: string, value: string): Promise<Remedy> {
  const { source } = await askOne<{ source: string }>(
    look,
    'SELECT source FROM pg_catalog.pg_settings WHERE name = $1',
    [name],
  )
  if (source === 'client') return advise(`take ${name} out of PGOPTIONS, or of "options" in the store URL`)
  return paste(
    'sql',
    `ALTER ROLE ${look.facts.role} IN DATABASE ${sqlName(look.location.database)} SET ${name} = ${value};`,
    'as a superuser, or who may alter the role; it counts from the next connection',
  )
}
