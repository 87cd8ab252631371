/** What was found, as people and as programs read it. */
import { VERSION } from '../../version.ts'
import { EXIT, exitOfStoreError } from '../exit.ts'
import { plain } from '../text.ts'
import type { Check, FaultKind } from './check.ts'

const STATUSES = ['fault', 'warning', 'ok', 'skipped'] as const
const INDENT = ' '.repeat(9)

const INTO: Readonly<Record<string, string>> = {
  sql: 'into psql',
  sqlite: 'into sqlite3, for that file',
  'pg_hba.conf': 'as the first line of pg_hba.conf, then SELECT pg_reload_conf();',
  manifest: 'into kubectl apply -f -',
  shell: 'into a shell',
  flags: 'behind the other flags',
  instead: 'in place of the flag of that name',
}

/** As JSON, on one line: `{version, ok, checks}`. */
export function asJson(checks: readonly Check[]): string {
  const sound = checks.every(({ status }) => status !== 'fault')
  return `${JSON.stringify({ version: VERSION, ok: sound, checks })}\n`
}

/** As lines: one for each check, below it what is wrong and what to do. */
export function asLines(checks: readonly Check[]): string {
  const counts = STATUSES.map(
    (status) => [status, checks.filter((check) => check.status === status).length] as const,
  )
  const summary = counts.filter(([, count]) => count > 0).map(([status, count]) => `${count} ${status}`)
  return `${checks.map(lines).join('')}\n${summary.join(', ')}\n`
}

function lines({ name, status, found, rule, remedy }: Check): string {
  const told = [`${status.padEnd(INDENT.length)}${name}: ${shown(found)}`]
  if (rule !== null) told.push(`${INDENT}rule: ${shown(rule)}`)
  if (remedy !== null) told.push(`${INDENT}remedy: ${shown(remedy.advice)}`)
  const { into, text } = remedy?.paste ?? { into: '', text: '' }
  if (into !== '')
    told.push(`${INDENT}paste ${INTO[into]}:`, ...text.split('\n').map((line) => `${INDENT}  ${plain(line)}`))
  return told.map((line) => `${line.trimEnd()}\n`).join('')
}

function shown(text: string): string {
  return plain(text.trimEnd().replaceAll(/\s*\n\s*/g, ' '))
}

/** Of several faults the one counts that stands in the way of the others. */
const IN_THE_WAY: readonly FaultKind[] = ['misconfigured', 'unavailable', 'denied', 'schema', 'other']

export function exitCode(checks: readonly Check[]): number {
  const kind = IN_THE_WAY.find((one) => checks.some((check) => check.kind === one))
  if (kind === undefined) return EXIT.ok
  return kind === 'other' ? EXIT.fault : exitOfStoreError(kind)
}
