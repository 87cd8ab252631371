/**
 * Lists the steps whose outcome is unknown: applied, and perhaps not delivered. They are never sent again by
 * themselves; somebody has to look. `DATABASE_URL=… node examples/escalation/unknown.ts`
 */
import { parseArgs } from 'node:util'
import pg from 'pg'
import { databaseUrl, flagsOr, whole } from './command.ts'

/** A step that was applied more recently than this may still be on its way. Longer than any channel's time-out. */
const ON_ITS_WAY_MS = '90000'

const USAGE = `DATABASE_URL=postgres://… unknown.ts [--older-than-ms ${ON_ITS_WAY_MS}] [--json]`

const flags = flagsOr(USAGE, () => {
  const { values } = parseArgs({
    options: {
      'older-than-ms': { type: 'string', default: ON_ITS_WAY_MS },
      json: { type: 'boolean', default: false },
    },
  })
  return { olderThanMs: whole('older-than-ms', values['older-than-ms'], 0), json: values.json }
})

interface Unknown {
  readonly alert: string
  readonly step: number
  readonly person: string
  readonly channel: string
  readonly runner: string
  readonly since: string
  readonly detail: string | null
  readonly token: string
}

const UNKNOWN = `SELECT d.alert_id::text AS alert, d.step, d.person, d.channel, d.runner, d.applied_at::text AS since,
  coalesce(d.detail, 'the runner ended before it knew') AS detail, d.token::text AS token
FROM escalation.delivery d
WHERE d.outcome = 'unknown' OR (d.outcome = 'applied'
  AND d.applied_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000))
ORDER BY d.applied_at`

const client = new pg.Client(databaseUrl())
await client.connect()
const { rows } = await client.query<Unknown>(UNKNOWN, [flags.olderThanMs])
await client.end()

if (flags.json) process.stdout.write(`${JSON.stringify(rows)}\n`)
else {
  for (const { alert, step, person, channel, runner, since, detail, token } of rows) {
    process.stdout.write(
      `outcome unknown: alert ${alert}, step ${step}, ${person} by ${channel}, since ${since} (${runner}: ${detail}; token ${token})\n`,
    )
  }
  process.stdout.write(`${rows.length} steps with an unknown outcome\n`)
}
