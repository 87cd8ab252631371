import { redactUrl } from '../../../config/redact.ts'
import { MIGRATIONS } from '../../../stores/postgres/migrations/all.ts'
import { appliedMigrations } from '../../../stores/postgres/schema.ts'
import { advise, type Check, fault, ok, paste, type Remedy, skipped, warning } from '../check.ts'
import { shellWord } from '../quote.ts'
import type { Look } from './look.ts'

const NAME = 'schema'
const RULE = 'the schema "tenure" has every migration that elections need'

export async function checkSchema(look: Look): Promise<readonly Check[]> {
  const { hasSchema, hasTables, missing } = look.facts
  if (!hasSchema) return [incomplete(look, 'there is no schema "tenure" in this database')]
  if (!hasTables) return [incomplete(look, 'the schema "tenure" lacks its tables')]
  if (missing.includes('usage') || missing.includes('version')) {
    return [skipped(NAME, 'its migrations cannot be read before the rights are there')]
  }
  const applied = await appliedMigrations(look.session, look.signal)
  const newer = applied.find(
    ({ number, breaking }) => breaking && !MIGRATIONS.some((one) => one.number === number),
  )
  if (newer !== undefined) return [tooNew(`${newer.number} (${newer.name})`)]
  const absent = MIGRATIONS.filter(({ number }) => !applied.some((one) => one.number === number))
  const names = absent.map(({ name }) => name).join(', ')
  if (absent.some(({ elects }) => elects)) return [incomplete(look, `it lacks the migrations ${names}`)]
  if (absent.length > 0) return [unfenced(look, names)]
  return [ok(NAME, `${applied.length} migrations, all that this version knows`)]
}

function incomplete(look: Look, found: string): Check {
  return fault(NAME, 'schema', found, RULE, migrate(look))
}

function unfenced(look: Look, names: string): Check {
  return warning(
    NAME,
    `it lacks the migrations ${names}`,
    'the fencing kit is there: without it elections work, and no write can be fenced',
    migrate(look),
  )
}

function tooNew(what: string): Check {
  return fault(
    NAME,
    'schema',
    `it has migration ${what}, which this version does not know and cannot work with`,
    'the schema is not newer than the program',
    advise('run the version of Tenure that made it, or a newer one'),
  )
}

function migrate({ settings }: Look): Remedy {
  const url = redactUrl(settings.url)
  return paste(
    'shell',
    `tenure migrate --store ${shellWord(url)}`,
    'as the owner of the database or of the schema, with that user in the URL; --print gives the SQL to an administrator instead',
  )
}
