/** `tenure doctor`: looks at everything that an election rests on, and says what is wrong and what to do. */
import type { Flags, OwnFlag } from '../config/flags.ts'
import { Merged } from '../config/merge.ts'
import { ConfigError } from '../config/origin.ts'
import { SETTING_NAMES } from '../config/settings.ts'
import { DURATION } from '../config/value-type.ts'
import { type Command, type Io, isOn, ownValue } from './command.ts'
import { JSON_FLAG } from './status.ts'

const GRACE_PERIOD: OwnFlag<number> = {
  type: DURATION,
  help: 'from SIGTERM to SIGKILL where it runs, to compare with --drain',
  defaultHelp: '',
}

export const command: Command = {
  name: 'doctor',
  usage: '[--grace-period DURATION] [--json] [the flags of "tenure run"]',
  about:
    'Examines the settings, the store, the addresses to listen on and who holds the leases, with the settings that "tenure run" would use. It stands for no election and changes nothing; each fault comes with a remedy. Exits with 0 when there is no fault, 2 for the settings, 4 for a store out of reach or rights that are missing, 5 for its schema, 1 for other faults.',
  settings: SETTING_NAMES,
  own: { json: JSON_FLAG, 'grace-period': GRACE_PERIOD },
  argumentsMost: 0,
  examples: [
    'tenure doctor',
    'tenure doctor --store postgres://tenure@db.internal/app --drain 20s --grace-period 30s',
    'tenure doctor --json | jq \'.checks[] | select(.status == "fault")\'',
  ],
  run,
}

async function run(flags: Flags, io: Io): Promise<number> {
  const merged = new Merged([])
  const graceMs = ownValue(GRACE_PERIOD, 'grace-period', flags, merged)
  if (merged.faults.length > 0) throw new ConfigError(merged.faults)
  const { examine } = await import('./doctor/examine.ts')
  const { asJson, asLines, exitCode } = await import('./doctor/report.ts')
  const checks = await examine(flags, io, graceMs)
  io.stdout.write(isOn('json', flags) ? asJson(checks) : asLines(checks))
  return exitCode(checks)
}
