/** `tenure doctor` on PostgreSQL: what is planted is named, and what it says to paste mends it. */
import { describe } from 'node:test'
import { RIGHTS } from '../../src/stores/postgres/grants.ts'
import { MIGRATIONS } from '../../src/stores/postgres/migrations/all.ts'
import { type Planted, testPlanted } from '../support/doctor.ts'
import { commonPlanted, held } from '../support/doctor-planted.ts'
import { PostgresClinic, patientOf } from '../support/doctor-postgres.ts'

const clinic = await PostgresClinic.start()
const { server } = clinic
// Before the first test is named: once all that are named have run, the server is taken away.
const sound = await clinic.place()

const fault = (rest: Omit<Planted, 'status'>): Planted => ({ status: 'fault', ...rest })
const warning = (rest: Omit<Planted, 'status' | 'code'>): Planted => ({ status: 'warning', code: 0, ...rest })

const LOGIN: readonly Planted[] = [
  fault({
    title: 'a role that is not there',
    plant: async () => patientOf(server.url((await clinic.place()).database, 'stranger')),
    check: 'server',
    found: /role "stranger" does not exist/,
    code: 4,
    paste: /^CREATE ROLE stranger LOGIN;$/,
  }),
  fault({
    title: 'a role that may not log in',
    plant: () => clinic.changed('ALTER ROLE ROLE_ NOLOGIN'),
    check: 'server',
    found: /not permitted to log in/,
    code: 4,
    paste: /^ALTER ROLE \w+ LOGIN;$/,
  }),
  fault({
    title: 'a pg_hba.conf that keeps the role out',
    plant: async () => {
      const { role, patient } = await clinic.place()
      await clinic.prependHba(`host all ${role} 127.0.0.1/32 reject`)
      return patient
    },
    check: 'server',
    found: /pg_hba\.conf rejects connection/,
    code: 4,
    paste: /^host "tenure_\w+" "role_\w+" 127\.0\.0\.1\/32 scram-sha-256$/,
  }),
  fault({
    title: 'a database that is not there',
    plant: async () => {
      return patientOf(server.url('nowhere', (await clinic.place()).role))
    },
    check: 'server',
    found: /database "nowhere" does not exist/,
    code: 2,
    paste: /^CREATE DATABASE nowhere;$/,
  }),
  fault({
    title: 'a database that the role may not connect to',
    plant: () => clinic.changed('REVOKE CONNECT ON DATABASE DATABASE_ FROM PUBLIC'),
    check: 'server',
    found: /permission denied for database/,
    code: 4,
    paste: /^GRANT CONNECT ON DATABASE tenure_\w+ TO role_\w+;$/,
  }),
  fault({
    title: 'a role that has used up its connections',
    plant: () => clinic.changed('ALTER ROLE ROLE_ CONNECTION LIMIT 0'),
    check: 'server',
    found: /too many connections for role/,
    code: 4,
    paste: /^ALTER ROLE \w+ CONNECTION LIMIT -1;$/,
  }),
  fault({
    title: 'a database that takes no more connections',
    plant: async () => {
      const { database, sql, patient } = await clinic.place()
      await sql(`ALTER DATABASE ${database} CONNECTION LIMIT 0`)
      return patient
    },
    check: 'server',
    found: /too many connections for database/,
    code: 4,
    paste: /^ALTER DATABASE \w+ CONNECTION LIMIT -1;$/,
  }),
  warning({
    title: 'a role whose connections will not do',
    plant: () => clinic.changed('ALTER ROLE ROLE_ CONNECTION LIMIT 1'),
    check: 'connections',
    found: /the role \w+ has 1 connections at most/,
    paste: /^ALTER ROLE \w+ CONNECTION LIMIT 2;$/,
  }),
  fault({
    title: 'a role that may only read',
    plant: () => clinic.changed('ALTER ROLE ROLE_ SET default_transaction_read_only = on'),
    check: 'server',
    found: /read-only transactions/,
    code: 4,
    paste: /^ALTER ROLE \w+ IN DATABASE \w+ SET default_transaction_read_only = off;$/,
  }),
]

const SCHEMA: readonly Planted[] = [
  fault({
    title: 'a schema that is missing',
    plant: async () => patientOf(server.url((await clinic.place({ migrated: false })).database)),
    check: 'schema',
    found: /there is no schema "tenure"/,
    code: 5,
    paste: /^tenure migrate --store /,
  }),
  fault({
    title: 'a schema without tables',
    plant: async () => {
      const { database, sql } = await clinic.place({ migrated: false })
      await sql('CREATE SCHEMA tenure')
      return patientOf(server.url(database))
    },
    check: 'schema',
    found: /lacks its tables/,
    code: 5,
    paste: /^tenure migrate --store /,
  }),
  warning({
    title: 'a schema without the fencing kit',
    plant: async () => {
      const { database, sql } = await clinic.place({ migrated: false })
      await sql(`CREATE SCHEMA tenure; CREATE TABLE tenure.migration (number integer PRIMARY KEY, name text NOT NULL,
        breaking boolean NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
      for (const { sql: text, number, name, breaking } of MIGRATIONS.filter(({ elects }) => elects)) {
        await sql(text)
        await sql(`INSERT INTO tenure.migration VALUES (${number}, '${name}', ${breaking})`)
      }
      return patientOf(server.url(database))
    },
    check: 'schema',
    found: /it lacks the migrations guard/,
    paste: /^tenure migrate --store /,
  }),
  ...RIGHTS.map((right) =>
    fault({
      title: `a role without the right "${right}"`,
      plant: async () => (await clinic.place({ without: [right] })).patient,
      check: 'rights',
      found: /^role_\w+ lacks [A-Z]+ on (the schema tenure|tenure\.\w+)$/,
      code: 4,
      paste: /^GRANT [A-Z]+ ON (SCHEMA tenure|tenure\.\w+) TO role_\w+;$/,
    }),
  ),
  warning({
    title: 'a role that may not write its tenures down',
    plant: () => clinic.changed('REVOKE INSERT, DELETE ON tenure.history FROM ROLE_'),
    check: 'history',
    found: /^role_\w+ lacks INSERT, DELETE on tenure\.history$/,
    paste: /^GRANT SELECT, INSERT, UPDATE, DELETE ON tenure\.history TO role_\w+;$/,
  }),
  fault({
    title: 'a table that a crash would empty',
    plant: () => clinic.changed('ALTER TABLE tenure.lease SET UNLOGGED'),
    check: 'table',
    found: /UNLOGGED/,
    code: 5,
    paste: /SET LOGGED;$/,
  }),
  fault({
    title: 'a table without the key that fences rest on',
    plant: () => clinic.changed('ALTER TABLE tenure.lease DROP CONSTRAINT lease_generation_key'),
    check: 'table',
    found: /no unique key/,
    code: 5,
    paste: /ADD CONSTRAINT lease_generation_key UNIQUE/,
  }),
  fault({
    title: 'row level security that hides leases',
    plant: () => clinic.changed('ALTER TABLE tenure.lease ENABLE ROW LEVEL SECURITY'),
    check: 'table',
    found: /hides rows/,
    code: 4,
    paste: /DISABLE ROW LEVEL SECURITY;$/,
  }),
  warning({
    title: 'a trigger that is none of ours',
    plant: () =>
      clinic.changed(
        `CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`,
        'CREATE TRIGGER "Audit" BEFORE UPDATE ON tenure.lease FOR EACH ROW EXECUTE FUNCTION audit()',
      ),
    check: 'table',
    found: /a trigger Audit/,
    paste: /^DROP TRIGGER "Audit" ON tenure\.lease;$/,
  }),
  warning({
    title: 'a twin',
    plant: async () => {
      const { database, patient } = await clinic.place()
      await held(server.url(database), 'default', 'web-9')
      return { ...patient, argv: [...patient.argv, '--identity', 'web-9'] }
    },
    check: 'twin',
    found: /held as "web-9" by session/,
    paste: /^--identity web-9-2$/,
  }),
]

const SERVER: readonly Planted[] = [
  ...['statement_timeout', 'transaction_timeout', 'idle_session_timeout'].map((name) =>
    warning({
      title: `a ${name} that is in the way`,
      plant: () => clinic.changed(`ALTER ROLE ROLE_ SET ${name} = '900ms'`),
      check: 'timeouts',
      found: new RegExp(`${name} is 900 ms`),
      paste: new RegExp(`^ALTER ROLE \\w+ IN DATABASE \\w+ SET ${name} = 0;$`),
    }),
  ),
  ...['fsync', 'full_page_writes'].map((name) =>
    warning({
      title: `a server with ${name} off`,
      plant: async () => {
        const { patient } = await clinic.place()
        await server.query(`ALTER SYSTEM SET ${name} = off`)
        await clinic.reload()
        return patient
      },
      check: 'durability',
      found: new RegExp(`^${name} is off$`),
      paste: new RegExp(`^ALTER SYSTEM SET ${name} = on;\n`),
    }),
  ),
  warning({
    title: 'a server that does not tell its lineage',
    plant: () => clinic.changed('REVOKE EXECUTE ON FUNCTION pg_catalog.pg_control_system() FROM PUBLIC'),
    check: 'lineage',
    found: /does not tell its system identifier/,
    paste: /GRANT EXECUTE ON FUNCTION pg_catalog\.pg_control_system\(\) TO role_\w+;/,
  }),
]

describe('on PostgreSQL', () => {
  testPlanted([...LOGIN, ...SCHEMA, ...SERVER], clinic.apply)
})
describe('on PostgreSQL as anywhere', () => {
  testPlanted(commonPlanted({ sound: () => sound.patient, leastTtl: '3s' }), clinic.apply)
})
