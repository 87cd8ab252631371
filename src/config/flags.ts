import { parseArgs } from 'node:util'
import type { Fault, Origin } from './origin.ts'
import { isSettingName, SETTING_NAMES, type SettingName, settingOf } from './settings.ts'
import { didYouMean } from './suggest.ts'
import type { ValueType } from './value-type.ts'
import type { Source, Written } from './written.ts'

/** A flag of one command, beside the settings. */
export interface OwnFlag<T = unknown> {
  readonly type: ValueType<T>
  readonly help: string
  /** As help shows it; empty where nothing stands. */
  readonly defaultHelp: string
  /** May stand several times: the texts are joined by commas. */
  readonly many?: true
}

/** What a command line may hold. */
export interface FlagRules {
  /** The command, for messages. */
  readonly command: string
  readonly settings: readonly SettingName[]
  readonly own: Readonly<Record<string, OwnFlag>>
  /** How many arguments without a dash may stand. */
  readonly argumentsMost: number
}

export interface Flags extends Source {
  /** The command's own flags, as written; a switch is `true` or `false`. */
  readonly own: ReadonlyMap<string, Written>
  readonly positionals: readonly string[]
  /** `--help` or `-h` was there. */
  readonly help: boolean
}

type Token = ReturnType<typeof tokens>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

function tokens(argv: readonly string[], rules: FlagRules) {
  const names = [...SETTING_NAMES, ...Object.keys(rules.own)]
  const options = Object.fromEntries(
    names.map((name) => [name, { type: isSwitch(name, rules) ? ('boolean' as const) : ('string' as const) }]),
  )
  return parseArgs({
    args: [...argv],
    options: { ...options, help: { type: 'boolean', short: 'h' } },
    strict: false, // so that all faults are told together, and in our words
    tokens: true,
  }).tokens
}

function typeOf(name: string, rules: FlagRules): ValueType<unknown> | undefined {
  const own = rules.own[name]
  if (own !== undefined) return own.type
  return isSettingName(name) ? settingOf(name).type : undefined
}

function isSwitch(name: string, rules: FlagRules): boolean {
  return typeOf(name, rules)?.placeholder === ''
}

/** Reads a command line. Nothing is thrown: what is wrong is listed. */
export function readFlags(argv: readonly string[], rules: FlagRules): Flags {
  const written = new Map<SettingName, Written[]>()
  const own = new Map<string, Written>()
  const positionals: string[] = []
  const faults: Fault[] = []
  let help = false
  // What follows a flag that is refused was most likely meant as its value: one mistake, one fault.
  let refused = false
  for (const token of tokens(argv, rules)) {
    const isValueOfRefused = refused && token.kind === 'positional'
    refused = false
    if (token.kind === 'positional' && !isValueOfRefused) positionals.push(token.value)
    if (token.kind !== 'option') continue
    if (token.name === 'help') {
      help = true
      continue
    }
    const fault = faultOf(token, rules)
    if (fault !== null) {
      faults.push(fault)
      refused = token.inlineValue !== true
    } else if (Object.hasOwn(rules.own, token.name)) keepOwn(own, token, rules)
    else if (isSettingName(token.name)) keep(written, token.name, writtenBy(token))
  }
  for (const extra of positionals.slice(rules.argumentsMost)) {
    faults.push({
      where: `argument ${JSON.stringify(extra)}`,
      rule: `"tenure ${rules.command}" takes no such argument`,
      remedy: `see "tenure help ${rules.command}"`,
    })
  }
  return { written, own, positionals, help, faults }
}

/** The last one stands, as is usual for flags, unless the setting takes several. */
function keep(written: Map<SettingName, Written[]>, name: SettingName, value: Written): void {
  const before = settingOf(name).many === true ? (written.get(name) ?? []) : []
  written.set(name, [...before, value])
}

function keepOwn(own: Map<string, Written>, token: OptionToken, rules: FlagRules): void {
  const { name } = token
  const value = writtenBy(token)
  const before = rules.own[name]?.many === true ? own.get(name) : undefined
  own.set(name, before === undefined ? value : { ...value, text: `${before.text},${value.text}` })
}

function writtenBy(token: OptionToken): Written {
  const origin: Origin = { kind: 'flag', text: `flag ${token.rawName}` }
  return { text: token.value ?? 'true', origin }
}

function faultOf(token: OptionToken, rules: FlagRules): Fault | null {
  const where = `flag ${token.rawName}`
  const known: readonly string[] = [...rules.settings, ...Object.keys(rules.own)]
  if (!known.includes(token.name)) {
    const hint = didYouMean(token.name, known, (name) => `--${name}`)
    const rule = isSettingName(token.name)
      ? `"tenure ${rules.command}" does not take this flag`
      : `there is no such flag${hint}`
    return { where, rule, remedy: `see "tenure help ${rules.command}"` }
  }
  if (isSwitch(token.name, rules)) {
    const parsed = typeOf(token.name, rules)?.parse(writtenBy(token).text)
    return parsed === undefined || parsed.ok ? null : { where, rule: parsed.rule, remedy: parsed.remedy }
  }
  const missing = token.value === undefined || (!token.inlineValue && token.value.startsWith('--'))
  if (!missing) return null
  return {
    where,
    rule: 'this flag needs a value',
    remedy: `write ${token.rawName} VALUE or ${token.rawName}=VALUE`,
  }
}
