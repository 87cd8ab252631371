import {
  ADDRESS,
  choice,
  DURATION,
  FILE,
  GENERATION_FLOOR,
  integer,
  LOOPBACK_ADDRESS,
  NAME,
  optional,
  SECRET,
  STORE_URL,
  SWITCH,
  SWITCH_OR_NAME,
  type ValueType,
  WEB_URL,
} from './value-type.ts'

/** The topics under which help and documentation list the settings, in this order, each with an example. */
export const GROUPS = {
  Store: '--store postgres://tenure@db.internal/app --store-password-file /run/secrets/db',
  Election: '--election fleet-manager --identity web-1',
  Timing: '--ttl 10s --margin 2s',
  Application: '--app-health http://127.0.0.1:8080/healthz --drain 20s',
  Claims: '--claims --claims-while-leading',
  Listening: '--listen 127.0.0.1:4050 --ops-listen 0.0.0.0:9090',
  General: '--config tenure.yaml --log-format json',
} as const
export type Group = keyof typeof GROUPS

/** One thing that can be set: by a flag, a variable or a key in a file. */
export interface Setting<T> {
  readonly type: ValueType<T>
  readonly group: Group
  /** One line, without a full stop. */
  readonly help: string
  /** As a user would write it; null where it is worked out, as `defaultHelp` then says. */
  readonly fallback: string | null
  readonly defaultHelp?: string
  /** May be given several times; a list in a file, separated by commas in a variable. */
  readonly many?: true
  /** Cannot stand in the configuration file. */
  readonly notInFile?: true
}

function setting<T>(
  group: Group,
  type: ValueType<T>,
  fallback: string | null,
  help: string,
  more: Pick<Setting<T>, 'defaultHelp' | 'many' | 'notInFile'> = {},
): Setting<T> {
  return { type, group, help, fallback, ...more }
}

const derived = (defaultHelp: string) => ({ defaultHelp })

/**
 * Every setting: the one source for flags, variables, keys, defaults, help, redaction and the JSON Schema. The
 * flag is `--name`, the variable `TENURE_NAME` with underscores, the key `name`.
 */
const SETTINGS = {
  store: setting(
    'Store',
    STORE_URL,
    'sqlite:',
    'where the leases are: sqlite:PATH, postgres://…, postgres: or kubernetes://NAMESPACE',
  ),
  'store-file': setting('Store', optional(FILE), 'none', 'a file that holds the store URL'),
  'store-password': setting('Store', optional(SECRET), 'none', 'password for the store'),
  'store-password-file': setting(
    'Store',
    optional(FILE),
    'none',
    'a file that holds the password, read again at each connect',
  ),

  election: setting('Election', NAME, 'default', 'a lease to contend for; repeat the flag for several', {
    many: true,
  }),
  identity: setting(
    'Election',
    NAME,
    null,
    'the label of this instance',
    derived('POD_NAME, else the host name, with the port unless it is 4040'),
  ),
  observer: setting('Election', SWITCH, 'false', 'watch the elections and never take part'),
  'generation-floor': setting(
    'Election',
    GENERATION_FLOOR,
    '0',
    'every generation is above this one, for a store that lost its own',
  ),

  ttl: setting('Timing', DURATION, '15s', 'how long the store keeps a lease after its last renewal'),
  margin: setting(
    'Timing',
    DURATION,
    null,
    'how much earlier than the store the holder stops',
    derived('ttl/5'),
  ),
  'renew-every': setting('Timing', DURATION, null, 'from one renewal to the next', derived('ttl/2')),
  'attempt-timeout': setting(
    'Timing',
    DURATION,
    null,
    'the longest that one store request may take',
    derived('5/12 of ttl − margin − renew-every, 5s at most'),
  ),
  backoff: setting(
    'Timing',
    DURATION,
    null,
    'the longest wait between two attempts',
    derived('1/12 of ttl − margin − renew-every, 1s at most'),
  ),
  promise: setting(
    'Timing',
    DURATION,
    null,
    'the longest that one answer "leading" stays true',
    derived('ttl/10, 1s at most'),
  ),
  'hold-off': setting(
    'Timing',
    DURATION,
    null,
    'how long an instance that resigned does not stand',
    derived('ttl/2'),
  ),

  drain: setting('Application', DURATION, '0', 'how long a shutdown waits for POST /v1/drained'),
  'app-health': setting(
    'Application',
    optional(WEB_URL),
    'none',
    'URL of a health check that a leader must pass',
  ),
  'app-health-failures': setting(
    'Application',
    integer(1, 100),
    '3',
    'failed checks in a row until the leader resigns',
  ),
  'require-polls': setting(
    'Application',
    optional(DURATION),
    'none',
    'a leader resigns whose application did not ask for this long',
  ),

  claims: setting('Claims', SWITCH, 'false', 'keep a book of claims on paths, under /v1/claims'),
  'claims-while-leading': setting(
    'Claims',
    SWITCH_OR_NAME,
    'false',
    'keep claims only while leading; with several elections =NAME says which',
  ),

  listen: setting('Listening', LOOPBACK_ADDRESS, '127.0.0.1:4040', 'where the API answers, on loopback'),
  'ops-listen': setting(
    'Listening',
    optional(ADDRESS),
    'none',
    'where probes and metrics answer, for outside',
  ),

  config: setting('General', optional(FILE), 'none', 'a YAML file with settings', { notInFile: true }),
  'log-level': setting(
    'General',
    choice('LEVEL', 'trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'the least severe lines to log: trace, debug, info, warn, error, fatal or silent',
  ),
  'log-format': setting(
    'General',
    choice('FORM', 'auto', 'json', 'pretty'),
    'auto',
    'auto, json or pretty; auto is pretty on a terminal',
  ),
} as const

export type SettingName = keyof typeof SETTINGS
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[]

/** The type of a setting's value. */
export type ValueOf<K extends SettingName> = (typeof SETTINGS)[K] extends Setting<infer T> ? T : never

/** The setting of that name, whichever its type. */
export function settingOf(name: SettingName): Setting<unknown> {
  return SETTINGS[name] as Setting<unknown>
}

export function isSettingName(text: string): text is SettingName {
  return Object.hasOwn(SETTINGS, text)
}

export const VARIABLE_PREFIX = 'TENURE_'

/** `renew-every` → `TENURE_RENEW_EVERY`. */
export function variableName(name: string): string {
  return VARIABLE_PREFIX + name.toUpperCase().replaceAll('-', '_')
}

/** What may stand in a configuration file. */
export const KEYS = SETTING_NAMES.filter((name) => settingOf(name).notInFile !== true)
