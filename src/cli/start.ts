/** `tenure run`, up to where the sidecar begins. */
import type { Flags } from '../config/flags.ts'
import { loadConfig } from '../config/load.ts'
import { SETTING_NAMES } from '../config/settings.ts'
import type { Command, Io } from './command.ts'

export const command: Command = {
  name: 'run',
  usage: '[FLAGS]',
  about:
    'Runs the sidecar until SIGTERM or SIGINT. Settings come from flags, before TENURE_* variables, before the file named by --config, before the defaults.',
  settings: SETTING_NAMES,
  own: {},
  argumentsMost: 0,
  examples: ['tenure run', 'tenure run --store postgres://tenure@db.internal/app --election fleet-manager'],
  run: start,
}

async function start(flags: Flags, io: Io): Promise<number> {
  const config = await loadConfig({ flags, environment: io.environment })
  const { run } = await import('./run.ts')
  return run(config, io.clock)
}
