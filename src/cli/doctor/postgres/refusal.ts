/** Why a server could not be logged in to, and what whoever runs it can do about it. */
import pg from 'pg'
import type { Location } from '../../../stores/postgres/location.ts'
import type { StoreError } from '../../../stores/store.ts'
import { advise, type Check, fault, type Paste, paste, type Remedy } from '../check.ts'
import { sqlName } from '../quote.ts'

/** One kind of refusal: how to tell it, the rule that it breaks, and the remedy. */
interface Refusal {
  readonly code: string
  readonly says?: RegExp
  readonly rule: string
  remedy(location: Location, message: string): Remedy
}

const HBA_SAYS = /pg_hba\.conf (?:entry for|rejects connection for) host "([^"]+)"/

const sql = (text: string, advice: string): Remedy => paste('sql', text, advice)
const AS_ADMINISTRATOR = 'as a superuser of the server'

const REFUSALS: readonly Refusal[] = [
  {
    code: '28000',
    says: HBA_SAYS,
    rule: 'pg_hba.conf lets this user in from this host',
    remedy: (location, message) => hbaLine(location, HBA_SAYS.exec(message)?.[1] ?? ''),
  },
  {
    code: '28000',
    says: /not permitted to log in/,
    rule: 'the role may log in',
    remedy: ({ user }) => sql(`ALTER ROLE ${sqlName(user)} LOGIN;`, AS_ADMINISTRATOR),
  },
  {
    code: '28000',
    says: /does not exist/,
    rule: 'the role exists',
    remedy: ({ user }) =>
      sql(
        `CREATE ROLE ${sqlName(user)} LOGIN;`,
        `${AS_ADMINISTRATOR}; add PASSWORD '…' where pg_hba.conf asks for one, or correct the user in the store URL`,
      ),
  },
  {
    code: '28P01',
    rule: 'the password is the one that the server knows',
    remedy: ({ user }) =>
      advise(
        `correct the password (--store-password-file, PGPASSWORD, ~/.pgpass), or set it on the server with \\password ${sqlName(user)} in psql`,
      ),
  },
  {
    code: '3D000',
    rule: 'the database exists',
    remedy: ({ database }) =>
      sql(
        `CREATE DATABASE ${sqlName(database)};`,
        `${AS_ADMINISTRATOR}, or correct its name in the store URL`,
      ),
  },
  {
    code: '42501',
    rule: 'the role may connect to the database',
    remedy: ({ database, user }) =>
      sql(
        `GRANT CONNECT ON DATABASE ${sqlName(database)} TO ${sqlName(user)};`,
        'as the owner of the database',
      ),
  },
  {
    code: '53300',
    says: /for role/,
    rule: 'the role may have as many connections as its sidecars need: one for each election, and one more',
    remedy: ({ user }) =>
      sql(
        `ALTER ROLE ${sqlName(user)} CONNECTION LIMIT -1;`,
        `${AS_ADMINISTRATOR}; -1 takes the limit away, or count what your sidecars need`,
      ),
  },
  {
    code: '53300',
    says: /for database/,
    rule: 'the database takes as many connections as its users need',
    remedy: ({ database }) =>
      sql(
        `ALTER DATABASE ${sqlName(database)} CONNECTION LIMIT -1;`,
        `${AS_ADMINISTRATOR}; -1 takes the limit away`,
      ),
  },
  {
    code: '53300',
    rule: 'the server has a connection to spare',
    remedy: () =>
      advise(
        'end idle connections, give the others a pooler, or raise max_connections and restart the server',
      ),
  },
]

const NETWORK: Readonly<Record<string, readonly [rule: string, advice: string]>> = {
  ENOTFOUND: [
    'the name of the host can be resolved',
    'correct the host in the store URL, or the DNS of this host',
  ],
  EAI_AGAIN: [
    'the name of the host can be resolved',
    'the DNS of this host does not answer: mend it, or write an address',
  ],
  ECONNREFUSED: [
    'a server listens on that port',
    'start the server, or correct host and port in the store URL',
  ],
  ENOENT: [
    'a server listens on that socket',
    'start the server, or correct the folder of its socket in the store URL',
  ],
  EHOSTUNREACH: ['the host can be reached', 'look at routes and firewalls between this host and the server'],
  ENETUNREACH: ['the host can be reached', 'look at routes and firewalls between this host and the server'],
}
const LOOK: Readonly<Record<StoreError['kind'], readonly [rule: string, advice: string]>> = {
  unavailable: [
    'the server answers in time',
    'look whether it runs, and at firewalls between this host and it',
  ],
  denied: ['the server lets this user in', 'give the password or the right that the message names'],
  schema: ['the schema is there', 'run tenure migrate'],
  misconfigured: [
    'the connection can be made as the settings say',
    'correct what the message names: sslmode, sslrootcert, the password file, or the certificate of the server',
  ],
}

export function explainRefusal(error: StoreError, location: Location): Check {
  const { cause, kind, message } = error
  if (cause instanceof pg.DatabaseError) {
    const known = REFUSALS.find(
      ({ code, says }) => code === cause.code && (says?.test(cause.message) ?? true),
    )
    if (known !== undefined) {
      const lasting = kind === 'unavailable' ? 'denied' : kind
      return fault('server', lasting, message, known.rule, known.remedy(location, cause.message))
    }
  }
  const [rule, advice] = NETWORK[codeOf(cause)] ?? LOOK[kind]
  return fault('server', kind, message, rule, advise(advice))
}

/** Of several addresses tried, that of the first. */
function codeOf(cause: unknown): string {
  const one = cause instanceof AggregateError ? cause.errors[0] : cause
  return one instanceof Error && 'code' in one ? String(one.code) : ''
}

function hbaLine({ database, user, tls }: Location, address: string): Remedy {
  const type = tls.mode === 'disable' || tls.mode === 'allow' || tls.mode === 'prefer' ? 'host' : 'hostssl'
  const range = `${address}/${address.includes(':') ? 128 : 32}`
  const into: Paste['into'] = 'pg_hba.conf'
  return paste(
    into,
    `${type} ${hbaName(database)} ${hbaName(user)} ${range} scram-sha-256`,
    'as whoever runs the server; widen the address to the range of your hosts or pods',
  )
}

function hbaName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
