/** `tenure resign`: asks the sidecar to step down. */
import type { Flags, OwnFlag } from '../config/flags.ts'
import { DURATION } from '../config/value-type.ts'
import { ask, isRecord, notASidecar } from './client.ts'
import { type Command, type Io, isOn, ownValue } from './command.ts'
import { EXIT } from './exit.ts'
import { JSON_FLAG } from './status.ts'
import { query, readTarget, TARGET_SETTINGS } from './target.ts'

const HOLD_OFF: OwnFlag<number> = {
  type: DURATION,
  help: 'how long this instance does not stand again',
  defaultHelp: 'as the sidecar is configured',
}

export const command: Command = {
  name: 'resign',
  usage: '[--election NAME] [--hold-off DURATION]',
  about:
    'Makes this instance step down: it answers "not leading" at once, and gives the lease back when its promise and its drain allow. One that does not lead holds off all the same.',
  settings: TARGET_SETTINGS,
  own: { 'hold-off': HOLD_OFF, json: JSON_FLAG },
  argumentsMost: 0,
  examples: ['tenure resign', 'tenure resign --hold-off 5m'],
  run,
}

async function run(flags: Flags, io: Io): Promise<number> {
  const { target, own: holdOffMs } = await readTarget(flags, io, (merged) =>
    ownValue(HOLD_OFF, 'hold-off', flags, merged),
  )
  for (const election of target.elections) {
    const url = `${target.api}/v1/resign${query(election)}`
    const body = await ask(url, io.clock, { body: holdOffMs === null ? {} : { holdOff: `${holdOffMs}ms` } })
    if (!isRecord(body)) throw notASidecar(url)
    io.stdout.write(isOn('json', flags) ? `${JSON.stringify(body)}\n` : describe(body))
  }
  return EXIT.ok
}

function describe({ generation }: Readonly<Record<string, unknown>>): string {
  return typeof generation === 'number'
    ? `resigned: generation ${generation} ends here\n`
    : 'this instance did not lead; it does not stand for a while\n'
}
