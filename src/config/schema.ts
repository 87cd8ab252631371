import { KEYS, type SettingName, settingOf } from './settings.ts'
import type { JsonSchema } from './value-type.ts'

/** The JSON Schema of the configuration file, made from the table of settings. */
export function configSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Tenure configuration',
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(KEYS.map((name) => [name, property(name)])),
  }
}

function property(name: SettingName): JsonSchema {
  const { type, help, fallback, defaultHelp, many } = settingOf(name)
  const described = `${help} (default: ${fallback ?? defaultHelp})`
  if (many !== true) return { description: described, ...type.schema }
  const list = { type: 'array', items: type.schema, minItems: 1, uniqueItems: true }
  return { description: described, anyOf: [type.schema, list] }
}
