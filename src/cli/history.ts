/** `tenure history`: the last tenures, as the store has them or as this sidecar saw them. */
import type { Flags } from '../config/flags.ts'
import { ask, isRecord, notASidecar } from './client.ts'
import { type Command, type Io, isOn } from './command.ts'
import { EXIT } from './exit.ts'
import { JSON_FLAG } from './status.ts'
import { query, readTarget, TARGET_SETTINGS } from './target.ts'
import { plain, span, table } from './text.ts'

export const command: Command = {
  name: 'history',
  usage: '[--election NAME] [--json]',
  about:
    'Lists who led, under which generation, from when to when, why it ended, and how long the lease was free before.',
  settings: TARGET_SETTINGS,
  own: { json: JSON_FLAG },
  argumentsMost: 0,
  examples: ['tenure history', 'tenure history --json'],
  run,
}

interface TenureBody {
  readonly holder: string | null
  readonly generation: number
  readonly from: string
  readonly until: string | null
  readonly reason: string | null
  readonly leaderlessMs: number | null
}

const HEADINGS = ['GENERATION', 'HOLDER', 'FROM', 'UNTIL', 'ENDED BY', 'FREE BEFORE']

async function run(flags: Flags, io: Io): Promise<number> {
  const { target } = await readTarget(flags, io, () => null)
  for (const election of target.elections) {
    const url = `${target.api}/v1/history${query(election)}`
    const body = await ask(url, io.clock)
    if (!isRecord(body) || !Array.isArray(body.tenures)) throw notASidecar(url)
    if (isOn('json', flags)) {
      io.stdout.write(`${JSON.stringify(body)}\n`)
      continue
    }
    io.stdout.write(describeHistory(body.tenures as readonly TenureBody[]))
    const fault = isRecord(body.error) ? body.error.message : null
    if (typeof fault === 'string') {
      io.stderr.write(`only what this sidecar saw since it started: the store's history: ${plain(fault)}\n`)
    }
  }
  return EXIT.ok
}

function describeHistory(tenures: readonly TenureBody[]): string {
  if (tenures.length === 0) return 'no tenure was seen yet\n'
  const rows = tenures.map(({ holder, generation, from, until, reason, leaderlessMs }) => [
    String(generation),
    holder === null ? 'unknown' : plain(holder),
    from,
    until ?? (reason === null ? 'now' : 'unknown'),
    reason ?? '',
    leaderlessMs === null ? 'unknown' : span(leaderlessMs),
  ])
  return table([HEADINGS, ...rows])
}
