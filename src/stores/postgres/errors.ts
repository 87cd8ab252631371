/** From what PostgreSQL and the network say to the kinds of `StoreError`. */
import pg from 'pg'
import { StoreError, type StoreErrorKind } from '../store.ts'
import { grantsFor, RIGHTS, type Right, ROLE } from './grants.ts'

/** Somebody else was in the way: serialization, deadlock, unique key, lock not available. */
const CONTENDED: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '55P03'])

const MIGRATE = 'run `tenure migrate`, or give its `--print` to an administrator'

/** What else is known about the session in which a statement failed. */
export interface SessionFacts {
  /** The role, quoted as SQL wants it. */
  readonly role: string
  readonly missing: readonly Right[]
}

type Translation = readonly [StoreErrorKind, string]

/** SQLSTATE, or its class in two characters, to kind and remedy. What is not here is `unavailable`: unknown. */
const TRANSLATIONS: Readonly<Record<string, Translation>> = {
  '25006': ['unavailable', 'the server became read-only: looking for the writable one at the next request'],
  '28P01': ['denied', 'correct the user or its password'],
  '28': [
    'denied',
    "the server's pg_hba.conf does not let this user in from here: correct it, or the user, or sslmode",
  ],
  '3D000': ['misconfigured', 'create the database, or correct its name in the store URL'],
  '3F000': ['schema', MIGRATE],
  '42P01': ['schema', MIGRATE],
  '42703': ['schema', MIGRATE],
  '22': ['misconfigured', 'a name or number does not fit the table'],
  '23': ['misconfigured', 'a name or number does not fit the table'],
}

/** What Node and pg say when TLS fails. */
const TLS_FAULT = /certificate|self-signed|does not support SSL|SSL connection|altname/i
const TLS_REMEDY = 'look at sslmode and sslrootcert, and at the certificate of the server'

/** Whether the statement lost a race: a value, no fault. The connection stays good. */
export function isContention(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && CONTENDED.has(error.code)
}

/** Makes a `StoreError` of anything that a request may throw. */
export function translate(error: unknown, facts: SessionFacts | null = null): StoreError {
  if (error instanceof StoreError) return error
  const { message } = error as Error
  if (!(error instanceof pg.DatabaseError) && TLS_FAULT.test(message))
    return new StoreError('misconfigured', `PostgreSQL: ${message}: ${TLS_REMEDY}`, { cause: error })
  if (!(error instanceof pg.DatabaseError))
    return new StoreError('unavailable', `PostgreSQL: ${message || describe(error)}`, { cause: error })
  const code = error.code ?? ''
  if (code === '42501')
    return new StoreError('denied', `PostgreSQL: ${message}: ${grantRemedy(facts)}`, { cause: error })
  const [kind, remedy] = TRANSLATIONS[code] ?? TRANSLATIONS[code.slice(0, 2)] ?? ['unavailable', null]
  return new StoreError(kind, `PostgreSQL: ${message} (${code})${remedy === null ? '' : `: ${remedy}`}`, {
    cause: error,
  })
}

/** The schema is not there. */
export function schemaMissing(what: string): StoreError {
  return new StoreError('schema', `PostgreSQL: ${what}: ${MIGRATE}`, { cause: null })
}

/** Rights that nothing works without are missing. */
export function rightsMissing(rights: readonly Right[], role: string): StoreError {
  return new StoreError('denied', `PostgreSQL: rights are missing: run ${grantsFor(rights, role)}`, {
    cause: null,
  })
}

function grantRemedy(facts: SessionFacts | null): string {
  const rights = facts === null || facts.missing.length === 0 ? RIGHTS : facts.missing
  return `run ${grantsFor(rights, facts?.role ?? ROLE)}`
}

/** An `AggregateError` of several addresses tried has no message of its own. */
function describe(error: unknown): string {
  const errors = error instanceof AggregateError ? (error.errors as readonly Error[]) : []
  return errors.map((one) => one.message).join(', ') || String(error)
}
