import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { after, describe, it } from 'node:test'
import { systemClock } from '../../src/clock/system-clock.ts'
import { grantsFor } from '../../src/stores/postgres/grants.ts'
import { deployFiles, migrate, migrationScript } from '../../src/stores/postgres/migrate.ts'
import { MIGRATIONS } from '../../src/stores/postgres/migrations/all.ts'
import { open } from '../../src/stores/postgres/store.ts'
import { queryUrl, startPostgres } from '../support/postgres.ts'
import { attempt, failsWith, newCandidate, newElection, settingsFor, win } from '../support/postgres-bench.ts'

const NAMES = MIGRATIONS.map(({ number, name }) => `${String(number).padStart(4, '0')}_${name}`)

const server = await startPostgres()
after(() => server.dispose())
const context = { clock: systemClock(), note: () => undefined }

async function freshUrl(): Promise<string> {
  return server.url(await server.createDatabase())
}

/** Columns, constraints and options of the lease table, for comparison. */
async function shape(url: string): Promise<unknown> {
  return queryUrl(
    url,
    `SELECT c.relname, c.relpersistence, c.reloptions,
      (SELECT json_agg(json_build_array(attname, format_type(atttypid, atttypmod), attnotnull, attcollation) ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) AS columns,
      (SELECT json_agg(pg_get_constraintdef(oid) ORDER BY conname) FROM pg_constraint WHERE conrelid = c.oid) AS constraints
    FROM pg_class c WHERE c.relnamespace = 'tenure'::regnamespace AND c.relkind = 'r' ORDER BY c.relname`,
  )
}

it('numbers of migrations have no gaps', () => {
  assert.deepEqual(
    MIGRATIONS.map(({ number }) => number),
    MIGRATIONS.map((_, i) => i + 1),
  )
})

describe('migrate', () => {
  it('applies what is missing, and nothing the second time', async () => {
    const url = await freshUrl()
    assert.deepEqual(await migrate(settingsFor(url), context), { applied: NAMES, present: [] })
    assert.deepEqual(await migrate(settingsFor(url), context), { applied: [], present: NAMES })
  })

  it('by several at once is applied once, and all of them succeed', async () => {
    const url = await freshUrl()
    const results = await Promise.all(Array.from({ length: 6 }, () => migrate(settingsFor(url), context)))
    assert.deepEqual(
      results.flatMap(({ applied }) => applied),
      NAMES,
    )
    const rows = await queryUrl(url, 'SELECT 1 FROM tenure.migration')
    assert.equal(rows.length, MIGRATIONS.length)
  })

  it('needs no right to create schemas where one is there already, and says which is missing otherwise', async () => {
    const database = await server.createDatabase()
    const role = await server.createRole()
    const url = server.url(database, role)
    assert.match(
      await failsWith(migrate(settingsFor(url), context), 'denied'),
      new RegExp(`GRANT CREATE ON DATABASE .* TO ${role}`),
    )
    await server.query(`CREATE SCHEMA tenure AUTHORIZATION ${role}`, [], database)
    assert.deepEqual((await migrate(settingsFor(url), context)).applied, NAMES)
  })

  it('leaves nothing behind when it fails half-way', async () => {
    const url = await freshUrl()
    await queryUrl(url, 'CREATE SCHEMA tenure; CREATE TABLE tenure.lease (something integer)')
    await assert.rejects(migrate(settingsFor(url), context))
    const rows = await queryUrl(url, `SELECT 1 FROM pg_class WHERE relname = 'migration'`)
    assert.deepEqual(rows, [])
  })
})

describe('the printed script', () => {
  it('makes the same schema as migrate does, and may be run again', async () => {
    const migrated = await freshUrl()
    await migrate(settingsFor(migrated), context)
    const printed = await freshUrl()
    await queryUrl(printed, migrationScript())
    await queryUrl(printed, migrationScript())
    assert.deepEqual(await shape(printed), await shape(migrated))
    assert.deepEqual(await migrate(settingsFor(printed), context), { applied: [], present: NAMES })
  })

  it('with the grants it names serves a role that owns nothing', async () => {
    const database = await server.createDatabase()
    await queryUrl(server.url(database), migrationScript())
    const role = await server.createRole()
    const grants = (deployFiles().get('roles.sql') ?? '')
      .replaceAll('tenure_candidate', role)
      .replaceAll('tenure_application', await server.createRole())
    await queryUrl(server.url(database), grants)
    const store = await open(settingsFor(server.url(database, role)), context)
    const tenure = await win(store, newElection(), newCandidate())
    assert.equal((await store.release(tenure, attempt())).kind, 'released')
    await store.close()
    assert.ok(grants.includes(grantsFor(['seed'], role)))
  })
})

it('deploy/postgres is what the migrations say; `npm run gen` writes it', async () => {
  const folder = new URL('../../deploy/postgres/', import.meta.url)
  assert.deepEqual((await readdir(folder)).sort(), [...deployFiles().keys()].sort())
  for (const [name, text] of deployFiles())
    assert.equal(await readFile(new URL(name, folder), 'utf8'), text, name)
})
