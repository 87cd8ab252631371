import type { OwnFlag } from '../config/flags.ts'
import { GROUPS, type Group, type SettingName, settingOf, variableName } from '../config/settings.ts'
import type { Command } from './command.ts'
import { COMMANDS } from './commands.ts'

const COLUMN = 30
const WIDTH = 100

/** The list of commands. */
export function overview(): string {
  const commands = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}\n`)
  return `Tenure answers one question on localhost: may this instance act, under which generation, and for how
long yet?

usage: tenure COMMAND [FLAGS]

${commands.join('')}  ${'version'.padEnd(10)}print the version
  ${'help'.padEnd(10)}explain a command: tenure help COMMAND

exit codes: 0 done, 1 fault, 2 usage or configuration, 3 not leading, 4 store unreachable or refusing, 5 schema,
124 time-out
`
}

/** The page of one command. */
export function commandHelp(command: Command): string {
  const { name, usage, about, settings, own, examples } = command
  const ownLines = Object.entries(own).map(([flag, one]) => ownLine(flag, one))
  const groups = (Object.keys(GROUPS) as Group[]).map((group) => groupHelp(group, settings, name === 'run'))
  return [
    `usage: tenure ${name} ${usage}\n\n${wrap(about, 0)}`,
    ownLines.length > 0 ? `Flags\n${ownLines.join('')}` : '',
    ...groups,
    `Examples\n${examples.map((example) => `  ${example}\n`).join('')}`,
  ]
    .filter((part) => part !== '')
    .join('\n')
}

function ownLine(flag: string, { type, help, defaultHelp }: OwnFlag): string {
  return line(`--${flag} ${type.placeholder}`, defaultHelp === '' ? help : `${help} [default ${defaultHelp}]`)
}

function groupHelp(group: Group, settings: readonly SettingName[], withExample: boolean): string {
  const names = settings.filter((name) => settingOf(name).group === group)
  if (names.length === 0) return ''
  const example = withExample ? `  example: tenure run ${GROUPS[group]}\n` : ''
  return `${group}\n${names.map(settingLine).join('')}${example}`
}

function settingLine(name: SettingName): string {
  const { type, help, fallback, defaultHelp } = settingOf(name)
  return line(
    `--${name} ${type.placeholder}`,
    `${help} [${variableName(name)}, default ${fallback ?? defaultHelp}]`,
  )
}

function line(flag: string, text: string): string {
  const head = `  ${flag.trimEnd()}`
  const body = wrap(text, COLUMN)
  // A flag that reaches into the column of the texts stands alone.
  return head.length > COLUMN - 2 ? `${head}\n${body}` : head + body.slice(head.length)
}

/** Breaks a text between words, each line set in by `indent` spaces. */
function wrap(text: string, indent: number): string {
  const lines: string[] = []
  let present = ''
  for (const word of text.split(' ')) {
    if (present !== '' && indent + present.length + 1 + word.length > WIDTH) {
      lines.push(present)
      present = ''
    }
    present = present === '' ? word : `${present} ${word}`
  }
  return [...lines, present].map((one) => `${' '.repeat(indent)}${one}\n`).join('')
}
