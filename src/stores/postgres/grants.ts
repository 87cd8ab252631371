/** The rights that a candidate needs, as GRANTs to paste. */

/** Stands for the role that Tenure logs in as. */
export const ROLE = 'tenure_candidate'

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

/** `role` is quoted as SQL wants it. */
export function grantsFor(rights: readonly Right[], role: string): string {
  return rights.map((right) => `GRANT ${PRIVILEGES[right]} TO ${role};`).join(' ')
}

/** The file for administrators. */
export function rolesScript(): string {
  return [
    `-- The rights of a candidate. Replace ${ROLE} by the role that Tenure logs in as; or create it as a`,
    '-- group, and grant it to such roles:',
    `--   CREATE ROLE ${ROLE} NOLOGIN;`,
    `--   GRANT ${ROLE} TO app;`,
    '-- An observer needs no UPDATE and no INSERT. INSERT is used once for each new election.',
    ...RIGHTS.map((right) => grantsFor([right], ROLE)),
    '',
  ].join('\n')
}
