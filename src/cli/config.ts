/** `tenure config`: what the settings come to, and what may stand in a file. */
import type { Flags } from '../config/flags.ts'
import { loadWithSources } from '../config/load.ts'
import { ConfigError } from '../config/origin.ts'
import { describeConfig, printJson, printYaml } from '../config/print.ts'
import { configSchema } from '../config/schema.ts'
import { SETTING_NAMES } from '../config/settings.ts'
import { didYouMean } from '../config/suggest.ts'
import { choice } from '../config/value-type.ts'
import type { Command, Io } from './command.ts'
import { CommandError, EXIT } from './exit.ts'

const ACTIONS = ['print', 'schema']

export const command: Command = {
  name: 'config',
  usage: 'print|schema [--format yaml|json] [the flags of "tenure run"]',
  about:
    '"print" shows every setting with its value and where it came from, with secrets hidden; what it prints as YAML can serve as a configuration file. "schema" prints the JSON Schema of that file.',
  settings: SETTING_NAMES,
  own: { format: { type: choice('FORM', 'yaml', 'json'), help: 'form of "print"', defaultHelp: 'yaml' } },
  argumentsMost: 1,
  examples: ['tenure config print --ttl 10s', 'tenure config schema > tenure.schema.json'],
  run,
}

async function run(flags: Flags, io: Io): Promise<number> {
  const [action] = flags.positionals
  if (action === undefined || !ACTIONS.includes(action)) {
    const what =
      action === undefined
        ? 'an action is missing'
        : `there is no action ${JSON.stringify(action)}${didYouMean(action, ACTIONS)}`
    throw new CommandError(
      EXIT.usage,
      `tenure config: ${what}; write "tenure config print" or "tenure config schema"`,
    )
  }
  if (action === 'schema') {
    if (flags.faults.length > 0) throw new ConfigError(flags.faults)
    io.stdout.write(`${JSON.stringify(configSchema(), null, 2)}\n`)
    return EXIT.ok
  }
  return print(flags, io)
}

async function print(flags: Flags, io: Io): Promise<number> {
  const format = flags.own.get('format')
  const parsed = command.own.format?.type.parse(format?.text ?? 'yaml')
  if (parsed?.ok === false) {
    throw new ConfigError([{ where: 'flag --format', rule: parsed.rule, remedy: parsed.remedy }])
  }
  const { config, merged } = await loadWithSources({ flags, environment: io.environment })
  const rows = describeConfig(config, merged)
  io.stdout.write((format?.text === 'json' ? printJson : printYaml)(rows, config.warnings))
  return EXIT.ok
}
