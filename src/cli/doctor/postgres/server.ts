import { redactUrl } from '../../../config/redact.ts'
import { describeHost } from '../../../stores/postgres/location.ts'
import { advise, type Check, fault, ok, paste, type Remedy } from '../check.ts'
import { checkOffset, measureOffset } from '../clock-offset.ts'
import { shellWord } from '../quote.ts'
import { askOne, type Look } from './look.ts'
import { settingRemedy } from './setting-remedy.ts'

const LEAST_VERSION = 15
const CLOCK_READINGS = 3

/** Version, and whether it can be written at all. */
export async function checkServer(look: Look): Promise<readonly Check[]> {
  const { facts, session } = look
  const { number, version } = await askOne<{ number: number; version: string }>(
    look,
    `SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4 / 10000 AS number,
      pg_catalog.current_setting('server_version') AS version`,
  )
  const who = `PostgreSQL ${version} on ${describeHost(session.host)}`
  if (facts.standby) return [await standby(look, who)]
  if (facts.readOnly) return [await readOnly(look, who)]
  if (number < LEAST_VERSION) return [tooOld(who)]
  return [ok('server', `${who}, which can be written, as the role ${facts.role}`)]
}

function tooOld(who: string): Check {
  const rule = `the server is PostgreSQL ${LEAST_VERSION} or newer`
  return fault('server', 'misconfigured', who, rule, advise('upgrade it, or name another server'))
}

async function standby(look: Look, who: string): Promise<Check> {
  const rule = 'a lease can only be written on the primary'
  return fault('server', 'unavailable', `${who} is a standby`, rule, await primaryRemedy(look))
}

/** A standby knows its primary; to whom it tells that is another question. */
async function primaryRemedy(look: Look): Promise<Remedy> {
  const advice =
    'name the primary in the store URL, or all servers with commas between them: the writable one is used'
  const { host, port } = await askOne<{ host: string | null; port: number | null }>(
    look,
    `SELECT pg_catalog.max(sender_host) AS host, pg_catalog.max(sender_port) AS port FROM pg_catalog.pg_stat_wal_receiver`,
  )
  const url = host === null || port === null ? null : urlOf(look, host, port)
  return url === null ? advise(advice) : paste('flags', `--store ${shellWord(url)}`, advice)
}

async function readOnly(look: Look, who: string): Promise<Check> {
  const rule = 'transactions of this role can write'
  const remedy = await settingRemedy(look, 'default_transaction_read_only', 'off')
  return fault('server', 'denied', `${who} gives ${look.facts.role} read-only transactions`, rule, remedy)
}

/** Our URL with another server in it; null where it has a form that this cannot be put into. */
export function urlOf({ settings }: Look, host: string, port: number): string | null {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)[^/?]*(.*)$/is.exec(redactUrl(settings.url))
  if (parts === null) return null
  return `${parts[1]}${host.includes(':') ? `[${host}]` : host}:${port}${parts[2]}`
}

export async function checkServerClock(look: Look): Promise<readonly Check[]> {
  const { clock, config } = look.subject
  const offset = await measureOffset(clock, CLOCK_READINGS, async () => {
    const { ms } = await askOne<{ ms: number }>(
      look,
      'SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::pg_catalog.float8 AS ms',
    )
    return ms
  })
  return [checkOffset(offset, config.timing.marginMs, describeHost(look.session.host))]
}
