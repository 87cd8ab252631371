/** `tenure status`: who leads, and how this instance stands. */
import type { Flags, OwnFlag } from '../config/flags.ts'
import { SWITCH } from '../config/value-type.ts'
import { type Command, type Io, isOn } from './command.ts'
import { EXIT, exitOfStoreError } from './exit.ts'
import { askLeadership, type Leadership } from './leadership.ts'
import { query, readTarget, TARGET_SETTINGS } from './target.ts'
import { plain, span, table } from './text.ts'

export const JSON_FLAG: OwnFlag<boolean> = { type: SWITCH, help: 'print JSON', defaultHelp: '' }

export const command: Command = {
  name: 'status',
  usage: '[--election NAME] [--json]',
  about:
    'Asks the sidecar on this host. Exits with 0 when this instance leads, 3 when it does not, 4 when nobody is known to lead because the store cannot be reached (5: its schema, 2: its settings), and 1 when there is no sidecar. It is a report: an application acts on GET /v1/leadership alone.',
  settings: TARGET_SETTINGS,
  own: { json: JSON_FLAG },
  argumentsMost: 0,
  examples: ['tenure status', 'tenure status --listen 127.0.0.1:4050 --json'],
  run,
}

async function run(flags: Flags, io: Io): Promise<number> {
  const { target } = await readTarget(flags, io, () => null)
  const answers: Leadership[] = []
  for (const election of target.elections) {
    // The form of a long poll that does not wait: it promises nothing, so that looking never delays a release.
    const url = `${target.api}/v1/leadership${query(election, { after: 'none', wait: '0' })}`
    answers.push(await askLeadership(url, io.clock))
  }
  const shown = isOn('json', flags)
    ? answers.map((answer) => `${JSON.stringify(answer)}\n`)
    : answers.map((answer) => describeStatus(answer, io.clock.date()))
  io.stdout.write(shown.join(isOn('json', flags) ? '' : '\n'))
  return Math.max(...answers.map(exitOf))
}

function exitOf({ leading, current, store }: Leadership): number {
  if (leading) return EXIT.ok
  const somebodyLeads = current !== null && current.holder !== null && current.expiresInMs !== 0
  if (store.error === null || somebodyLeads) return EXIT.notLeading
  return exitOfStoreError(store.error.kind)
}

/** The answer for people; `nowMs` is the wall clock. */
function describeStatus(answer: Leadership, nowMs: number): string {
  const { election, identity, state, reason, since, store, draining } = answer
  const sinceMs = Date.parse(since)
  const ago = Number.isNaN(sinceMs) ? '' : ` for ${span(Math.max(0, nowMs - sinceMs))}`
  const rows = [
    ['election', plain(election)],
    ['this instance', `${plain(identity)}: ${state}${ago} (${reason})`],
    ['leader', leader(answer)],
    ['store', `${store.kind} ${plain(store.location)}, ${lastAnswered(store.lastSuccessAgoMs)}`],
  ]
  if (draining !== null) {
    rows.push([
      'draining',
      `generation ${draining.generation}, ${span(draining.leaseRemainingMs)} left at most`,
    ])
  }
  if (store.error !== null) rows.push(['store error', `${store.error.kind}: ${plain(store.error.message)}`])
  return table(rows)
}

function leader({ leading, generation, identity, current }: Leadership): string {
  if (leading)
    return `${plain(identity)} (this instance), under generation ${generation}${leaseLeft(current)}`
  if (current === null) return 'unknown: the store showed no record yet'
  if (current.holder === null) return `nobody; the last generation was ${current.generation}`
  if (current.expiresInMs === 0) {
    return `nobody; the lease of ${plain(current.holder)} ran out, under generation ${current.generation}`
  }
  return `${plain(current.holder)}, under generation ${current.generation}${leaseLeft(current)}`
}

function leaseLeft(current: Leadership['current']): string {
  if (current === null || current.expiresInMs === null) return ''
  const seen = `seen ${span(current.observedAgeMs)} ago`
  return `; the lease lasts ${span(current.expiresInMs)} more unless it is renewed (${seen})`
}

function lastAnswered(agoMs: number | null): string {
  return agoMs === null ? 'has not answered yet' : `answered ${span(agoMs)} ago`
}
