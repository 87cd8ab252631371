import { formatDuration } from './duration.ts'
import type { LoadedConfig } from './load.ts'
import type { Merged } from './merge.ts'
import { SETTING_NAMES, type SettingName, settingOf } from './settings.ts'
import { TIMING_SETTINGS } from './timing-settings.ts'
import { NONE, SECRET } from './value-type.ts'

/** One setting as it stands after the merge; secrets are hidden. */
export interface Row {
  readonly name: SettingName
  /** One text, or a list for a setting that takes several. */
  readonly value: string | readonly string[]
  /** Text of the origin: `flag --ttl`, `derived`, … */
  readonly origin: string
  /** Whether the value may be written in a file as it is shown. */
  readonly usable: boolean
}

/** Every setting in the order of the table. */
export function describeConfig(config: LoadedConfig, merged: Merged): readonly Row[] {
  const timing = new Map<SettingName, string>(
    Object.entries(TIMING_SETTINGS).map(([part, name]) => [
      name,
      formatDuration(config.timing[part as keyof typeof TIMING_SETTINGS]),
    ]),
  )
  return SETTING_NAMES.map((name) => {
    const { type, many, notInFile } = settingOf(name)
    const shown = merged.list(name).map((value) => type.show(value))
    const value = many === true ? shown : (shown[0] ?? timing.get(name) ?? NONE)
    const usable = notInFile !== true && value !== NONE && value !== SECRET.show('')
    return { name, value, origin: config.origins[name].text, usable }
  })
}

/** The rows as a configuration file, with the origin of each as a comment. */
export function printYaml(rows: readonly Row[], warnings: readonly string[]): string {
  const lines = rows.map(yamlLine)
  const width = Math.max(...lines.map((line) => Math.min(line.length, COMMENT_COLUMN_MOST)))
  const settings = rows.map(({ origin }, i) => `${(lines[i] ?? '').padEnd(width)}  # ${oneLine(origin)}\n`)
  return [...warnings.map((warning) => `# ${oneLine(warning)}\n`), ...settings].join('')
}

const COMMENT_COLUMN_MOST = 48

/** What cannot stand in a file is a comment. */
function yamlLine({ name, value, usable }: Row): string {
  return usable ? `${name}: ${yamlValue(name, value)}` : `# ${name}: ${oneLine(String(value))}`
}

/** Texts are quoted unless they plainly are words; a JSON string is a YAML string. */
function yamlValue(name: SettingName, value: string | readonly string[]): string {
  if (typeof value !== 'string') return `[${value.map((one) => JSON.stringify(one)).join(', ')}]`
  const isText = settingOf(name).type.scalars.includes('string')
  return isText && !/^[a-z0-9]+$/.test(value) ? JSON.stringify(value) : value
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

/** The rows as JSON: `{settings: {NAME: {value, origin}}, warnings}`. */
export function printJson(rows: readonly Row[], warnings: readonly string[]): string {
  const settings = Object.fromEntries(rows.map(({ name, value, origin }) => [name, { value, origin }]))
  return `${JSON.stringify({ settings, warnings }, null, 2)}\n`
}
