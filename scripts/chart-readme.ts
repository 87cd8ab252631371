/** The files of the charts that are made from the code and from their values. */
import { readFileSync } from 'node:fs'
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { configSchema } from '../src/config/schema.ts'
import type { JsonSchema } from '../src/config/value-type.ts'

const CHARTS = ['tenure', 'example-app', 'tenure-monitoring'] as const
const PLACE_OF_VALUES = '<!-- values -->'
const PLACE_OF_SETTINGS = '<!-- settings -->'
/** What the chart itself says, so that no value may: where the store is, who contends for what, where it listens. */
const OF_THE_CHART = new Set([
  'store',
  'store-file',
  'store-password',
  'store-password-file',
  'election',
  'identity',
  'listen',
  'ops-listen',
])

/** Each README with the table of its values, and the schema with the sidecar's settings: text by path. */
export function chartReadmes(root = new URL('../', import.meta.url)): ReadonlyMap<string, string> {
  const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
  const readmes = CHARTS.map((chart): [string, string] => {
    const values = parseDocument(read(`charts/${chart}/values.yaml`)).contents
    if (!isMap(values)) throw new Error(`charts/${chart}/values.yaml is no map`)
    const rows = rowsOf(values as YAMLMap, [])
    const text = read(`charts/${chart}/README.template.md`)
      .replace(PLACE_OF_VALUES, table(['value', 'default', 'what it says'], rows))
      .replace(PLACE_OF_SETTINGS, table(['setting', 'what it says'], settingRows()))
    return [`charts/${chart}/README.md`, text]
  })
  const schema = 'charts/tenure/values.schema.json'
  return new Map([...readmes, [schema, schemaWithSettings(read(schema))]])
}

function table(heads: readonly string[], rows: readonly string[]): string {
  return [`| ${heads.join(' | ')} |`, `|${' --- |'.repeat(heads.length)}`, ...rows].join('\n')
}

function settingRows(): readonly string[] {
  return Object.entries(settings()).map(([name, { description }]) => `| \`${name}\` | ${description} |`)
}

/** What may stand under `settings`: as in the sidecar's configuration file. */
function settings(): Readonly<Record<string, JsonSchema>> {
  const all = Object.entries((configSchema().properties ?? {}) as Record<string, JsonSchema>)
  return Object.fromEntries(all.filter(([name]) => !OF_THE_CHART.has(name)))
}

/** A row for each value that has a comment of its own; a map whose entries have some is not a row itself. */
function rowsOf(map: YAMLMap, path: readonly string[]): readonly string[] {
  return map.items.flatMap((pair, index) => {
    const here = [...path, String(pair.key)]
    // The parser gives a comment before the first entry to the map.
    const comment = commentOf(pair) ?? (index === 0 ? (map.commentBefore ?? null) : null)
    const value = pair.value
    const isSection = isMap(value) && value.items.some((item, at) => hasComment(value, item, at))
    if (isSection) return rowsOf(value, here)
    if (comment === null) throw new Error(`the value ${here.join('.')} has no comment`)
    return [`| \`${here.join('.')}\` | \`${shown(value)}\` | ${oneLine(comment)} |`]
  })
}

function hasComment(map: YAMLMap, pair: Pair, index: number): boolean {
  return commentOf(pair) !== null || (index === 0 && (map.commentBefore ?? null) !== null)
}

function commentOf({ key }: Pair): string | null {
  return (isScalar(key) ? key.commentBefore : null) ?? null
}

function shown(value: unknown): string {
  return JSON.stringify(isScalar(value) || isMap(value) ? value.toJSON() : value)
}

function oneLine(comment: string): string {
  return comment
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')
    .trim()
}

/** Replaces the settings in the chart's schema by those of the configuration file. */
function schemaWithSettings(text: string): string {
  const schema = JSON.parse(text)
  schema.properties.settings.properties = settings()
  return `${JSON.stringify(schema, null, 2)}\n`
}
