/** `tenure migrate --work`, as a process against a real PostgreSQL. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import pg from 'pg'
import { tenure } from '../support/command.ts'
import { queryUrl, startPostgres } from '../support/postgres.ts'

const server = await startPostgres()
after(() => server.dispose())
const database = await server.createDatabase()
const url = server.url(database)
const sql = (text: string) => queryUrl(url, text)

const migrate = (table: string, store = url) => tenure(['migrate', '--store', store, '--work', table])

/** Type and comment of each column of a lease. */
const columns = (table: string) =>
  sql(`SELECT attname AS name, format_type(atttypid, NULL) AS type, attnotnull AS required,
      col_description(attrelid, attnum) AS comment
    FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attname LIKE 'lease%' ORDER BY attname`)

test('the columns are added once, null for all present rows and with a comment each, and nothing else is touched', async () => {
  await sql(
    'CREATE SCHEMA app; CREATE TABLE app.jobs (id integer PRIMARY KEY); INSERT INTO app.jobs VALUES (1), (2)',
  )
  const [first, second] = [await migrate('app.jobs'), await migrate('app.jobs')]
  assert.deepEqual(
    [first.code, first.stdout],
    [0, '"app"."jobs": added leased_until, lease_token\n'],
    first.stderr,
  )
  assert.deepEqual([second.code, second.stdout], [0, '"app"."jobs": up to date\n'], second.stderr)
  assert.deepEqual(await columns('app.jobs'), [
    {
      name: 'lease_token',
      type: 'uuid',
      required: false,
      comment: 'Token of the claim that may write the row; null when free.',
    },
    {
      name: 'leased_until',
      type: 'timestamp with time zone',
      required: false,
      comment: "Until when the row is leased, on this server's clock; null when free.",
    },
  ])
  assert.deepEqual(await sql('SELECT * FROM app.jobs ORDER BY id'), [
    { id: 1, leased_until: null, lease_token: null },
    { id: 2, leased_until: null, lease_token: null },
  ])
  assert.deepEqual(await sql(`SELECT to_regnamespace('tenure') AS schema`), [{ schema: null }])
})

test('what is there already is kept: its values, and its comment', async () => {
  await sql(`CREATE TABLE older (id integer PRIMARY KEY, leased_until timestamptz);
    COMMENT ON COLUMN older.leased_until IS 'Mine.'; INSERT INTO older VALUES (1, '2026-01-01Z')`)
  assert.equal((await migrate('older')).stdout, '"public"."older": added lease_token\n')
  const [token, until] = await columns('older')
  assert.match(String(token?.comment), /^Token/)
  assert.equal(until?.comment, 'Mine.')
  assert.deepEqual(await sql('SELECT leased_until FROM older'), [{ leased_until: new Date('2026-01-01Z') }])
})

test('a table in use is up to date without waiting for it', async (t) => {
  await sql('CREATE TABLE busy (id integer PRIMARY KEY)')
  await migrate('busy')
  const user = new pg.Client(url)
  t.after(() => user.end())
  await user.connect()
  await user.query('BEGIN')
  await user.query('LOCK TABLE busy IN ROW EXCLUSIVE MODE')
  const { code, stdout, stderr } = await migrate('busy')
  assert.deepEqual([code, stdout], [0, '"public"."busy": up to date\n'], stderr)
})

test('what cannot serve is named with its remedy, and none of the tables is touched', async () => {
  await sql(`CREATE TABLE fine (id integer PRIMARY KEY);
    CREATE VIEW shown AS SELECT * FROM fine;
    CREATE TABLE local (id integer, leased_until timestamp);
    CREATE TABLE texts (id integer, lease_token text);
    CREATE TABLE strict (id integer, leased_until timestamptz NOT NULL);
    CREATE TABLE filled (id integer, lease_token uuid DEFAULT gen_random_uuid());
    CREATE TABLE rounded (id integer, leased_until timestamptz(2), lease_token uuid);
    CREATE TABLE computed (id integer, at timestamptz, leased_until timestamptz GENERATED ALWAYS AS (at) STORED);
    CREATE TABLE whole (id integer) PARTITION BY LIST (id);
    CREATE TABLE part PARTITION OF whole FOR VALUES IN (1);
    CREATE TYPE shape AS (id integer);
    CREATE TABLE typed OF shape`)
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      'fine,missing',
      /"public"."missing": there is no such table: correct the name, which is taken as it stands/,
    ],
    ['fine,shown', /"public"."shown": this is a view: name the table/],
    [
      'fine,local',
      /leased_until is there with the type timestamp without time zone, and has to be timestamptz: .*ALTER COLUMN leased_until TYPE timestamptz USING leased_until AT TIME ZONE/,
    ],
    [
      'fine,texts',
      /lease_token is there with the type text, and has to be uuid: .* USING lease_token::uuid;/,
    ],
    ['fine,strict', /leased_until is NOT NULL, .*DROP NOT NULL;/],
    ['fine,filled', /lease_token has a default, .*DROP DEFAULT;/],
    ['fine,rounded', /leased_until is rounded to 2 digits of a second, .*TYPE timestamptz;/],
    ['fine,computed', /leased_until is generated, .*RENAME COLUMN leased_until TO leased_until_before;/],
    ['fine,part', /"public"."part": this is a partition, .*name the parent: public\.whole;/],
    [
      'fine,typed',
      /has the columns of the type shape: run ALTER TYPE shape ADD ATTRIBUTE leased_until timestamptz CASCADE, ADD/,
    ],
    ['fine,pg_catalog.pg_class', /this table is part of PostgreSQL itself: name a table of your own/],
  ]
  for (const [tables, message] of cases) {
    const { code, stderr } = await migrate(tables)
    assert.deepEqual([code, message.test(stderr)], [5, true], stderr)
    assert.doesNotMatch(stderr, /GRANT/)
  }
  assert.deepEqual(await columns('fine'), [])
  await sql(
    `ALTER TABLE local ALTER COLUMN leased_until TYPE timestamptz USING leased_until AT TIME ZONE 'UTC'`,
  )
  assert.equal((await migrate('local')).code, 0)
})

test('the remedies for a partition, a typed table and a column with another meaning work as they are printed', async () => {
  await sql(`CREATE TABLE parted (id integer) PARTITION BY LIST (id);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
    CREATE TYPE form AS (id integer);
    CREATE TABLE formed OF form;
    CREATE TABLE derived (at timestamptz, leased_until timestamptz GENERATED ALWAYS AS (at) STORED)`)
  for (const table of ['formed', 'derived']) {
    const { code, stderr } = await migrate(table)
    const [statement] = /ALTER T(?:YPE|ABLE) [^;]*;/.exec(stderr) ?? []
    assert.ok(code === 5 && statement !== undefined, stderr)
    await sql(statement)
  }
  for (const table of ['parted', 'parted_1', 'formed', 'derived']) {
    const { code, stderr } = await migrate(table)
    assert.equal(code, 0, stderr)
  }
})

test('what PostgreSQL refuses for a reason of its own is told with that reason, and with no rights on other tables', async () => {
  await sql(`CREATE TABLE guarded (id integer PRIMARY KEY);
    CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'changes are frozen' USING ERRCODE = '42501'; END $$;
    CREATE EVENT TRIGGER frozen ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse()`)
  const { code, stderr } = await migrate('guarded')
  await sql('DROP EVENT TRIGGER frozen')
  assert.equal(code, 5)
  assert.match(
    stderr,
    /"public"."guarded": the columns cannot be added: changes are frozen: run what --print/,
  )
  assert.doesNotMatch(stderr, /GRANT/)
})

test('who does not own the table is told who does; where nothing is to be done, that is no fault', async () => {
  const [owner, other] = [await server.createRole(), await server.createRole()]
  await sql(`CREATE TABLE owned (id integer PRIMARY KEY); ALTER TABLE owned OWNER TO ${owner}`)
  const refused = await migrate('owned', server.url(database, other))
  assert.equal(refused.code, 4)
  assert.match(refused.stderr, new RegExp(`only its owner may add columns: run this as ${owner}`))
  assert.equal((await migrate('owned', server.url(database, owner))).code, 0)
  assert.equal((await migrate('owned', server.url(database, other))).stdout, '"public"."owned": up to date\n')
})

test('several at once add the columns once, and all of them succeed', async () => {
  await sql('CREATE TABLE raced (id integer PRIMARY KEY)')
  const results = await Promise.all(Array.from({ length: 3 }, () => migrate('raced')))
  assert.deepEqual(
    results.map(({ code }) => code),
    [0, 0, 0],
    results.map(({ stderr }) => stderr).join(''),
  )
})

test('--print writes the same as plain SQL, connects nowhere, and the docs show it', async () => {
  const { code, stdout } = await tenure(['migrate', '--print', '--work', 'app.jobs,public.printed'])
  assert.equal(code, 0)
  await sql('CREATE TABLE printed (id integer PRIMARY KEY)')
  for (const _ of ['once', 'and again']) await sql(stdout)
  assert.deepEqual(await columns('printed'), await columns('app.jobs'))
  const docs = await readFile(new URL('../../docs/work.md', import.meta.url), 'utf8')
  const repeated = await tenure(['migrate', '--print', '--work', 'app.jobs', '--work', 'public.printed'])
  assert.equal(repeated.stdout, stdout)
  const one = await tenure(['migrate', '--print', '--work', 'app.jobs'])
  assert.ok(docs.includes(one.stdout), `docs/work.md does not show:\n${one.stdout}`)
})

test('a name that is none, and a store that keeps no tables, are errors of usage', async () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['', url, /flag --work ""/],
    ['a.b.c', url, /a table is named as schema\.table/],
    ['app.', url, /a table is named as schema\.table/],
    ['app.jobs', 'sqlite:', /work leases are kept in PostgreSQL; name its database/],
    ['app.jobs', 'kubernetes:', /work leases are kept in PostgreSQL; name its database/],
  ]
  for (const [table, store, message] of cases) {
    const { code, stderr } = await tenure(['migrate', '--store', store, `--work=${table}`])
    assert.deepEqual([code, message.test(stderr)], [2, true], stderr)
  }
})
