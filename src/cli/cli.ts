/** Finds the command that a command line means, runs it, and turns what it throws into messages and exit codes. */
import { readFlags } from '../config/flags.ts'
import { ConfigError } from '../config/origin.ts'
import { didYouMean } from '../config/suggest.ts'
import { StoreError } from '../stores/store.ts'
import { VERSION } from '../version.ts'
import type { Command, Io } from './command.ts'
import { COMMANDS } from './commands.ts'
import { CommandError, EXIT, exitOfStoreError } from './exit.ts'

/** Runs a command line, without the program's own name, and returns the exit code. Never throws. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io)
  } catch (error) {
    return report(error, argv, io)
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  const [name, ...rest] = argv
  switch (name) {
    case undefined:
      io.stderr.write((await import('./help.ts')).overview())
      return EXIT.usage
    case 'help':
    case '--help':
    case '-h':
      return help(rest, io)
    case 'version':
    case '--version':
      io.stdout.write(`tenure ${VERSION}\n`)
      return EXIT.ok
    default:
      return runCommand(await loadCommand(name), rest, io)
  }
}

async function loadCommand(name: string): Promise<Command> {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (entry !== undefined) return (await entry.load()).command
  if (name.startsWith('-')) {
    throw new CommandError(
      EXIT.usage,
      `a command comes first, then its flags: tenure run ${name} …; see "tenure help"`,
    )
  }
  const hint = didYouMean(name, [...Object.keys(COMMANDS), 'help', 'version'])
  throw new CommandError(EXIT.usage, `there is no command ${JSON.stringify(name)}${hint}; see "tenure help"`)
}

async function help([topic]: readonly string[], io: Io): Promise<number> {
  const { commandHelp, overview } = await import('./help.ts')
  io.stdout.write(topic === undefined ? overview() : commandHelp(await loadCommand(topic)))
  return EXIT.ok
}

async function runCommand(command: Command, argv: readonly string[], io: Io): Promise<number> {
  const { name, settings, own, argumentsMost } = command
  const flags = readFlags(argv, { command: name, settings, own, argumentsMost })
  return flags.help ? help([name], io) : command.run(flags, io)
}

/** One line for each thing that went wrong; a stack only where somebody debugs. */
function report(error: unknown, argv: readonly string[], { stderr, environment }: Io): number {
  if (error instanceof ConfigError) {
    stderr.write(error.message.replaceAll(/^/gm, 'tenure: ').concat('\n'))
    return EXIT.usage
  }
  stderr.write(`tenure: ${wantsStack(argv, environment) ? stackOf(error) : firstLine(error)}\n`)
  if (error instanceof CommandError) return error.code
  return error instanceof StoreError ? exitOfStoreError(error.kind) : EXIT.fault
}

function wantsStack(argv: readonly string[], environment: Io['environment']): boolean {
  const said = [environment.TENURE_LOG_LEVEL ?? '', ...argv].join(' ')
  return /(^|--log-level[= ])(debug|trace)\b/.test(said)
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n')[0] || 'it failed and gave no reason; try again with --log-level debug'
}
