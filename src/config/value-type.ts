import { GENERATION_LIMIT } from '../election/tenure.ts'
import { type Address, formatAddress, parseAddress, parseLoopbackAddress } from './address.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { NAME_MOST_CHARACTERS, parseName } from './name.ts'
import { bad, good, type Parsed } from './parsed.ts'
import { redactUrl } from './redact.ts'
import { didYouMean } from './suggest.ts'

/** A fragment of JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** How a value is written, in every source alike. */
export interface ValueType<T> {
  /** What stands for the value in help texts; empty for a switch. */
  readonly placeholder: string
  /** The YAML scalars that may carry it; `number` and `boolean` are read from their source text. */
  readonly scalars: readonly ('string' | 'number' | 'boolean')[]
  readonly schema: JsonSchema
  parse(text: string): Parsed<T>
  /** The value as a user would write it, without secrets. */
  show(value: T): string
  /** What was written, as it may be quoted in an error: without secrets. */
  quote(text: string): string
}

const QUOTED_MOST_CHARACTERS = 80

function shortened(text: string): string {
  const cut = text.length > QUOTED_MOST_CHARACTERS ? `${text.slice(0, QUOTED_MOST_CHARACTERS)}…` : text
  return JSON.stringify(cut)
}

export const DURATION: ValueType<number> = {
  placeholder: 'DURATION',
  scalars: ['string', 'number'],
  schema: {
    anyOf: [{ type: 'string', pattern: '^(0|\\d+(\\.\\d+)?(ms|s|m|h))$' }, { const: 0 }],
  },
  parse: parseDuration,
  show: formatDuration,
  quote: shortened,
}

export const NAME: ValueType<string> = {
  placeholder: 'NAME',
  scalars: ['string'],
  schema: { type: 'string', minLength: 1, maxLength: NAME_MOST_CHARACTERS },
  parse: parseName,
  show: (value) => value,
  quote: shortened,
}

/** Any text but none, such as a path. */
export const FILE: ValueType<string> = {
  placeholder: 'FILE',
  scalars: ['string'],
  schema: { type: 'string', minLength: 1 },
  parse: (text) => (text === '' ? bad('a path is never empty', 'give the path of a file') : good(text)),
  show: (value) => value,
  quote: shortened,
}

export const SECRET: ValueType<string> = {
  ...FILE,
  placeholder: 'SECRET',
  parse: (text) =>
    text === '' ? bad('a secret is never empty', 'give it, or leave the setting out') : good(text),
  show: () => '(redacted)',
  quote: () => '(redacted)',
}

export const STORE_URL: ValueType<string> = {
  ...FILE,
  placeholder: 'URL',
  // What schemes there are is checked where the store's limits are looked up.
  parse: (text) =>
    text === ''
      ? bad('a store URL is never empty', 'use sqlite:, postgres://HOST/DATABASE, postgres: or kubernetes:')
      : good(text),
  show: redactUrl,
  quote: (text) => shortened(redactUrl(text)),
}

export const WEB_URL: ValueType<string> = {
  placeholder: 'URL',
  scalars: ['string'],
  schema: { type: 'string', pattern: '^https?://' },
  parse: (text) =>
    /^https?:\/\//i.test(text) && URL.canParse(text)
      ? good(text)
      : bad('this is not an http or https URL', 'write one, for example http://127.0.0.1:8080/healthz'),
  show: redactUrl,
  quote: (text) => shortened(redactUrl(text)),
}

export const SWITCH: ValueType<boolean> = {
  placeholder: '',
  scalars: ['boolean'],
  schema: { type: 'boolean' },
  parse: (text) =>
    text === 'true' || text === 'false'
      ? good(text === 'true')
      : bad('this is neither true nor false', 'write true or false'),
  show: String,
  quote: shortened,
}

/** A switch that may name something: `--flag`, `--flag=NAME`. On without a name is `true`; off is null. */
export const SWITCH_OR_NAME: ValueType<string | true | null> = {
  placeholder: '',
  scalars: ['boolean', 'string'],
  schema: { anyOf: [{ type: 'boolean' }, NAME.schema] },
  parse: (text) => {
    const on = SWITCH.parse(text)
    return on.ok ? good(on.value || null) : parseName(text)
  },
  show: (value) => String(value ?? false),
  quote: shortened,
}

const ADDRESS_SCHEMA: JsonSchema = { type: 'string', pattern: '^(\\[[^\\]]+\\]|[^:]+):\\d{1,5}$' }

export const ADDRESS: ValueType<Address> = {
  placeholder: 'HOST:PORT',
  scalars: ['string'],
  schema: ADDRESS_SCHEMA,
  parse: parseAddress,
  show: formatAddress,
  quote: shortened,
}

export const LOOPBACK_ADDRESS: ValueType<Address> = { ...ADDRESS, parse: parseLoopbackAddress }

/** A whole number between bounds, both included. */
export function integer(least: number, most: number): ValueType<number> {
  return {
    placeholder: 'NUMBER',
    scalars: ['number'],
    schema: { type: 'integer', minimum: least, maximum: most },
    parse: (text) => {
      const value = Number(text)
      const fits = /^\d{1,16}$/.test(text) && value >= least && value <= most
      return fits
        ? good(value)
        : bad(`this is not a whole number from ${least} to ${most}`, 'write one in decimal digits')
    },
    show: String,
    quote: shortened,
  }
}

/** The highest floor that still leaves a generation above it. */
export const GENERATION_FLOOR = integer(0, GENERATION_LIMIT - 2)

/** One of a few words. */
export function choice<const T extends string>(placeholder: string, ...words: readonly T[]): ValueType<T> {
  return {
    placeholder,
    scalars: ['string'],
    schema: { enum: words },
    parse: (text) => {
      const word = words.find((candidate) => candidate === text)
      return word === undefined
        ? bad(`this is none of the words allowed here${didYouMean(text, words)}`, `use ${words.join(', ')}`)
        : good(word)
    },
    show: (value) => value,
    quote: shortened,
  }
}

/** The word that takes an optional setting back that a lower source made. */
export const NONE = 'none'

/** A setting that may be without a value. */
export function optional<T>(type: ValueType<T>): ValueType<T | null> {
  return {
    ...type,
    schema: { anyOf: [{ const: NONE }, type.schema] },
    parse: (text) => (text === NONE ? good(null) : type.parse(text)),
    show: (value) => (value === null ? NONE : type.show(value)),
  }
}
