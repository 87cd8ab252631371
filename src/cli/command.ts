import type { Clock } from '../clock/clock.ts'
import type { Environment } from '../config/environment.ts'
import type { Flags, OwnFlag } from '../config/flags.ts'
import type { Merged } from '../config/merge.ts'
import type { SettingName } from '../config/settings.ts'

/** What a command speaks through, handed in so that it can be tested. */
export interface Io {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  readonly environment: Environment
  readonly clock: Clock
}

/** A subcommand. */
export interface Command {
  readonly name: string
  /** What stands behind the name in the usage line. */
  readonly usage: string
  /** Sentences for its help page. */
  readonly about: string
  /** The settings it takes as flags. */
  readonly settings: readonly SettingName[]
  readonly own: Readonly<Record<string, OwnFlag>>
  readonly argumentsMost: number
  readonly examples: readonly string[]
  /** Does the work and returns the exit code. Faults of the flags are still in `flags`. */
  run(flags: Flags, io: Io): Promise<number>
}

/** The value of one of the command's own flags; null where it was not given, or was wrong, which is then noted. */
export function ownValue<T>(own: OwnFlag<T>, name: string, flags: Flags, merged: Merged): T | null {
  const written = flags.own.get(name)
  if (written === undefined) return null
  const parsed = own.type.parse(written.text)
  if (parsed.ok) return parsed.value
  merged.fault(`${written.origin.text} ${own.type.quote(written.text)}`, parsed.rule, parsed.remedy)
  return null
}

/** Whether one of the command's own switches is on. */
export function isOn(name: string, flags: Flags): boolean {
  return flags.own.get(name)?.text === 'true'
}
