/** The rights of the roles that meet in a database, as GRANTs to paste. */

/** Stands for the role that Tenure logs in as. */
export const ROLE = 'tenure_candidate'
/** Stands for the role whose writes are fenced: it may ask the guards, and not touch the lease. */
export const APPLICATION_ROLE = 'tenure_application'

export const RIGHTS = ['usage', 'read', 'write', 'seed', 'version'] as const
/** What a right is for: using the schema, reading, writing and seeding leases, and reading the schema's version. */
export type Right = (typeof RIGHTS)[number]

const PRIVILEGES: Readonly<Record<Right, string>> = {
  usage: 'USAGE ON SCHEMA tenure',
  read: 'SELECT ON tenure.lease',
  write: 'UPDATE ON tenure.lease',
  seed: 'INSERT ON tenure.lease',
  version: 'SELECT ON tenure.migration',
}

const GUARDS = [
  'tenure.guard(text, uuid, bigint)',
  'tenure.try_guard(text, uuid, bigint)',
  'tenure.current(text)',
  'tenure.guard_resource(text, uuid, bigint)',
  'tenure.try_guard_resource(text, uuid, bigint)',
] as const

const TABLE_GUARDS = [
  'tenure.guard_table(regclass, text)',
  'tenure.unguard_table(regclass)',
  'tenure.guard_row()',
] as const

/** `role` is quoted as SQL wants it. */
export function grantsFor(rights: readonly Right[], role: string): string {
  return rights.map((right) => `GRANT ${PRIVILEGES[right]} TO ${role};`).join(' ')
}

/** What the history needs; a candidate without it elects all the same. */
export function historyGrantFor(role: string): string {
  return `GRANT SELECT, INSERT, UPDATE, DELETE ON tenure.history TO ${role};`
}

function executes(functions: readonly string[], role: string): string[] {
  return functions.map((one) => `GRANT EXECUTE ON FUNCTION ${one} TO ${role};`)
}

/** The file for administrators. */
export function rolesScript(): string {
  return [
    `-- Replace ${ROLE} by the role that Tenure logs in as, and ${APPLICATION_ROLE} by the one that`,
    '-- the application writes as; or create them as groups, and grant those to such roles:',
    `--   CREATE ROLE ${ROLE} NOLOGIN;`,
    `--   CREATE ROLE ${APPLICATION_ROLE} NOLOGIN;`,
    '',
    '-- A candidate. An observer needs no UPDATE and no INSERT; INSERT is used once for each new election.',
    ...RIGHTS.map((right) => grantsFor([right], ROLE)),
    '',
    '-- The history of tenures, of which an observer needs SELECT. Without it a candidate elects all the same, and',
    '-- knows of no tenure that it has not seen itself.',
    historyGrantFor(ROLE),
    '',
    '-- An application that fences its writes. It cannot read or change a lease.',
    grantsFor(['usage'], APPLICATION_ROLE),
    ...executes(GUARDS, APPLICATION_ROLE),
    '',
    '-- Only for a role that binds tables of its own to an election with tenure.guard_table:',
    ...[grantsFor(['usage'], 'OWNER'), ...executes(TABLE_GUARDS, 'OWNER')].map((line) => `--   ${line}`),
    '',
  ].join('\n')
}
