/** Settings of the role that cut off what a sidecar does. Everything else is forced by each statement. */
import { type Check, ok, warning } from '../check.ts'
import { askOne, type Look } from './look.ts'
import { settingRemedy } from './setting-remedy.ts'

/** The connection that listens is silent for up to 30 s. */
const SILENT_MOST_MS = 60_000

interface Timeouts {
  readonly [name: string]: number | null
}

/** Milliseconds of each; null where the server does not know it. */
const QUESTION = `SELECT
  (SELECT setting::pg_catalog.int4 FROM pg_catalog.pg_settings WHERE name = 'statement_timeout') AS statement_timeout,
  (SELECT setting::pg_catalog.int4 FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout') AS transaction_timeout,
  (SELECT setting::pg_catalog.int4 FROM pg_catalog.pg_settings WHERE name = 'idle_session_timeout') AS idle_session_timeout`

export async function checkTimeouts(look: Look): Promise<readonly Check[]> {
  const { attemptTimeoutMs } = look.subject.config.timing
  const set = await askOne<Timeouts>(look, QUESTION)
  const wrong: Check[] = []
  for (const [name, ms] of Object.entries(set)) {
    if (ms === null || ms === 0) continue
    const idle = name === 'idle_session_timeout'
    const leastMs = idle ? SILENT_MOST_MS : attemptTimeoutMs
    if (ms >= leastMs) continue
    const rule = idle
      ? `it is 0 or ≥ ${leastMs} ms: the connection that is woken by releases may be silent for half of that`
      : `it is 0 or ≥ the attempt timeout of ${leastMs} ms: a request that could still succeed is cut off`
    wrong.push(warning('timeouts', `${name} is ${ms} ms`, rule, await settingRemedy(look, name, '0')))
  }
  return wrong.length > 0 ? wrong : [ok('timeouts', 'no setting of the role cuts a request off')]
}
