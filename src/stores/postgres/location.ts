/** Where the server is, as libpq users say it: `postgres://` URLs and the PG* variables. */
import { userInfo } from 'node:os'
import { StoreError } from '../store.ts'
import { parseTls, type TlsSettings } from './tls.ts'

/** A server that may be asked. A host that begins with `/` is the folder of a Unix socket. */
export interface Host {
  readonly host: string
  readonly port: number
}

/** Everything that is needed to connect, but the password where it is kept elsewhere. */
export interface Location {
  /** In the order in which they are tried; at least one. */
  readonly hosts: readonly Host[]
  readonly user: string
  readonly database: string
  /** From the URL; null where it named none. */
  readonly password: string | null
  /** Path of the file in the form of `~/.pgpass`; null where no home is known. */
  readonly passfile: string | null
  readonly applicationName: string
  /** Start-up options for the server, as in `-c geqo=off`. */
  readonly options: string | null
  /** The longest wait for one host; null leaves it to the request's own bound. */
  readonly connectTimeoutMs: number | null
  readonly channelBinding: 'disable' | 'prefer' | 'require'
  readonly tls: TlsSettings
}

export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_HOST = 'localhost'
const DEFAULT_PORT = '5432'
const PORT_MOST = 65_535

const URL_FORM =
  /^postgres(?:ql)?:(?:\/\/(?:(?<login>[^/?]*)@)?(?<hosts>[^/?]*))?(?:\/(?<database>[^?]*))?(?:\?(?<query>.*))?$/is

/** Parameters that are understood, each with the variable that gives its default. */
const PARAMETERS: Readonly<Record<string, string | null>> = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  password: null,
  dbname: 'PGDATABASE',
  passfile: 'PGPASSFILE',
  application_name: 'PGAPPNAME',
  options: 'PGOPTIONS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
  channel_binding: 'PGCHANNELBINDING',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
}

/** Parameters of libpq that change nothing here. */
const IGNORED = new Set([
  'fallback_application_name',
  'client_encoding',
  'gssencmode',
  'keepalives',
  'keepalives_idle',
  'keepalives_interval',
  'keepalives_count',
  'tcp_user_timeout',
  'sslcompression',
  'sslsni',
])

function misconfigured(message: string): StoreError {
  return new StoreError('misconfigured', message, { cause: null })
}

/**
 * Reads a store URL, with the PG* variables as defaults.
 *
 * @throws StoreError `misconfigured`, naming the part that is wrong but never a password.
 */
export function parseLocation(url: string, env: Environment): Location {
  const parts = URL_FORM.exec(url)?.groups
  if (parts === undefined) {
    throw misconfigured('the store URL is not of the form postgres://USER@HOST:PORT/DATABASE?PARAMETER=VALUE')
  }
  const query = parseQuery(parts.query ?? '')
  const read = (name: string): string | undefined => {
    const variable = PARAMETERS[name]
    const fromEnv = variable === null || variable === undefined ? undefined : env[variable]
    return nonEmpty(query.get(name)) ?? nonEmpty(fromEnv)
  }
  const login = parseLogin(parts.login)
  const user = login.user ?? read('user') ?? userInfo().username
  checkTarget(read('target_session_attrs'))
  return {
    hosts: parseHosts(nonEmpty(parts.hosts), read('host'), read('port')),
    user,
    database: nonEmpty(decode(parts.database ?? '', 'database')) ?? read('dbname') ?? user,
    password: login.password ?? nonEmpty(query.get('password')) ?? null,
    passfile: passfile(read('passfile'), env),
    applicationName: read('application_name') ?? 'tenure',
    options: read('options') ?? null,
    connectTimeoutMs: connectTimeout(read('connect_timeout')),
    channelBinding: oneOf('channel_binding', read('channel_binding') ?? 'prefer', [
      'prefer',
      'disable',
      'require',
    ]),
    tls: parseTls(read, nonEmpty(env.HOME) ?? null),
  }
}

/** For people: user, hosts and database, never a password. */
export function describeLocation({ user, hosts, database }: Location): string {
  return `postgres://${user}@${hosts.map(describeHost).join(',')}/${database}`
}

export function describeHost({ host, port }: Host): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** The value, if it is one of those allowed. */
export function oneOf<Allowed extends string>(
  name: string,
  value: string,
  allowed: readonly Allowed[],
): Allowed {
  const found = allowed.find((one) => one === value)
  if (found !== undefined) return found
  throw misconfigured(`${name}=${value} is not known: use one of ${allowed.join(', ')}`)
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw misconfigured(
      `the ${what} in the store URL has a "%" that no two hexadecimal digits follow: write it as %25`,
    )
  }
}

function parseQuery(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const part of text.split('&').filter((one) => one !== '')) {
    const at = part.indexOf('=')
    const name = decode(at < 0 ? part : part.slice(0, at), 'parameter')
    if (IGNORED.has(name)) continue
    if (!Object.hasOwn(PARAMETERS, name)) {
      const known = Object.keys(PARAMETERS).sort()
      const close = known.filter((one) => similar(one, name))
      throw misconfigured(
        `the store URL has an unknown parameter ${JSON.stringify(name)}: ` +
          (close.length > 0 ? `did you mean ${close.join(' or ')}?` : `known are ${known.join(', ')}`),
      )
    }
    found.set(name, at < 0 ? '' : decode(part.slice(at + 1), name))
  }
  return found
}

/** Equal but for case and separators, or one the beginning of the other. */
function similar(known: string, given: string): boolean {
  const [a, b] = [known, given].map((name) => name.toLowerCase().replaceAll(/[^a-z]/g, '')) as [
    string,
    string,
  ]
  return b.length >= 3 && (a.startsWith(b) || b.startsWith(a))
}

function parseLogin(text: string | undefined): { user: string | undefined; password: string | undefined } {
  if (text === undefined) return { user: undefined, password: undefined }
  const at = text.indexOf(':')
  return {
    user: nonEmpty(decode(at < 0 ? text : text.slice(0, at), 'user')),
    password: at < 0 ? undefined : nonEmpty(decode(text.slice(at + 1), 'password')),
  }
}

/** Hosts of the URL (`a:1,[::1]:2`), else of `host`; a single port serves for all that have none. */
function parseHosts(
  inUrl: string | undefined,
  host: string | undefined,
  port: string | undefined,
): readonly Host[] {
  const entries =
    inUrl?.split(',').map(splitPort) ?? (host ?? DEFAULT_HOST).split(',').map((one) => [one, null] as const)
  const ports = (port ?? DEFAULT_PORT).split(',')
  if (ports.length > 1 && ports.length !== entries.length) {
    throw misconfigured(
      `port names ${ports.length} ports for ${entries.length} hosts: give one, or as many as hosts`,
    )
  }
  return entries.map(([name, own], i) => ({
    host: decode(name, 'host') || DEFAULT_HOST,
    port: parsePort(own ?? ports[ports.length > 1 ? i : 0] ?? DEFAULT_PORT),
  }))
}

function splitPort(entry: string): readonly [string, string | null] {
  const { bracketed, plain, port } =
    /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^:]*))(?::(?<port>[^:]*))?$/.exec(entry)?.groups ?? {}
  const name = bracketed ?? plain
  if (name === undefined)
    throw misconfigured(`host ${JSON.stringify(entry)}: write an IPv6 address in brackets`)
  return [name, nonEmpty(port) ?? null]
}

function parsePort(text: string): number {
  const port = Number(text || DEFAULT_PORT)
  if (/^\d*$/.test(text) && port >= 1 && port <= PORT_MOST) return port
  throw misconfigured(`port ${JSON.stringify(text)} is not a number from 1 to ${PORT_MOST}`)
}

function passfile(path: string | undefined, env: Environment): string | null {
  if (path !== undefined) return path
  const home = nonEmpty(env.HOME)
  return home === undefined ? null : `${home}/.pgpass`
}

function connectTimeout(text: string | undefined): number | null {
  if (text === undefined) return null
  const seconds = Number(text)
  if (!Number.isInteger(seconds))
    throw misconfigured(`connect_timeout=${text} is not a whole number of seconds`)
  return seconds > 0 ? seconds * 1_000 : null
}

function checkTarget(value: string | undefined): void {
  if (value === undefined || ['any', 'read-write', 'primary', 'prefer-standby'].includes(value)) return
  throw misconfigured(`target_session_attrs=${value} cannot work: a lease has to be written; use read-write`)
}
