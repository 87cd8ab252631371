import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import pg from 'pg'
import { withFence } from '../../src/fencing/index.ts'
import { migrationScript } from '../../src/stores/postgres/migrate.ts'
import { FencingBench, type Led, refusedWith } from '../support/fencing-bench.ts'
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'

const WRITES = {
  insert: `INSERT INTO jobs (id, region) VALUES (10, 'eu')`,
  'a multi-row insert': `INSERT INTO jobs (id, region) VALUES (11, 'eu'), (12, 'us')`,
  'an insert … select': `INSERT INTO jobs (id, region) SELECT i, 'eu' FROM generate_series(20, 30) i`,
  'an upsert': `INSERT INTO jobs (id, region) VALUES (1, 'eu') ON CONFLICT (id, region) DO UPDATE SET note = 'seen'`,
  update: `UPDATE jobs SET note = 'x' WHERE id = 1`,
  'an update that moves a row to another partition': `UPDATE jobs SET region = 'us' WHERE id = 1`,
  delete: 'DELETE FROM jobs WHERE id = 1',
  merge: `MERGE INTO jobs USING (SELECT 1 AS id) s ON jobs.id = s.id WHEN MATCHED THEN UPDATE SET note = 'm'`,
  truncate: 'TRUNCATE jobs',
  'copy, as a server-side program would': `COPY jobs (id, region) FROM PROGRAM 'echo "40	eu"'`,
  'a partition written directly': `INSERT INTO jobs_eu (id, region) VALUES (50, 'eu')`,
  'a partition updated directly': `UPDATE jobs_eu SET note = 'x'`,
  'a partition truncated directly': 'TRUNCATE jobs_eu',
  'a write inside a function': 'SELECT add_job(60)',
  'a delete that cascades from another table': 'DELETE FROM owners WHERE id = 1',
  'a data-modifying WITH': `WITH gone AS (DELETE FROM jobs RETURNING id) SELECT * FROM gone`,
} as const

const bench = await FencingBench.start()
afterEach(() => bench.closeAll())

let led: Led
let orm: pg.Client
beforeEach(async () => {
  led = await bench.lead()
  orm = await bench.connect()
  await bench.postgres.sql('GRANT pg_execute_server_program TO tenure_application')
  await bench.postgres.sql(`
    DROP TABLE IF EXISTS jobs, owners, plain CASCADE;
    CREATE TABLE owners (id integer PRIMARY KEY);
    CREATE TABLE jobs (id integer, region text, owner integer REFERENCES owners ON DELETE CASCADE, note text,
      PRIMARY KEY (id, region)) PARTITION BY LIST (region);
    CREATE TABLE jobs_eu PARTITION OF jobs FOR VALUES IN ('eu');
    CREATE TABLE jobs_us PARTITION OF jobs FOR VALUES IN ('us');
    CREATE OR REPLACE FUNCTION add_job(id integer) RETURNS void LANGUAGE sql AS $$INSERT INTO jobs VALUES (id, 'us')$$;
    INSERT INTO owners VALUES (1);
    INSERT INTO jobs VALUES (1, 'eu', 1);
    GRANT ALL ON jobs, jobs_eu, jobs_us, owners TO tenure_application`)
  await bench.postgres.sql('SELECT tenure.guard_table($1, $2)', ['jobs', led.fence.election])
})

/** The transaction of a client that knows nothing of Tenure but one setting. */
async function write(sql: string, setting: string | null, client = orm): Promise<void> {
  await client.query('BEGIN')
  try {
    if (setting !== null) await client.query(`SET LOCAL tenure.fence = '${setting}'`)
    await client.query(sql)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

async function content(): Promise<unknown> {
  return bench.postgres.sql('SELECT * FROM jobs ORDER BY id, region')
}

for (const [what, sql] of Object.entries(WRITES)) {
  describe(`a guarded table and ${what}`, () => {
    it('lets the present tenure, and what it writes is there', async () => {
      const before = await content()
      await write(sql, led.setting)
      assert.notDeepEqual(await content(), before)
    })

    it('refuses an old tenure, a transaction that names none, and an empty setting; nothing changes', async () => {
      const before = await content()
      const unset = await refusedWith('TN002', write(sql, null))
      assert.match(unset.message, /does not say which tenure it belongs to/)
      assert.match(unset.hint ?? '', /SET LOCAL tenure.fence = 'SESSION\/GENERATION'/)
      await refusedWith('TN002', write(sql, ''))
      await refusedWith('TN002', write(sql, led.fence.session))
      await led.deposed()
      const stale = await refusedWith('TN001', write(sql, led.setting))
      assert.match(stale.message, /web-2 does, under generation 2/)
      assert.deepEqual(await content(), before)
    })
  })
}

describe('the setting', () => {
  it('of one transaction does not serve the next one on the same connection', async () => {
    await write(WRITES.update, led.setting)
    await refusedWith('TN002', write(WRITES.update, null))
    await refusedWith('TN002', orm.query(WRITES.update))
  })

  it('made outside of a transaction by SET LOCAL serves nobody', async () => {
    await orm.query(`SET LOCAL tenure.fence = '${led.setting}'`)
    await refusedWith('TN002', orm.query(WRITES.update))
  })

  it('left over on the connection by SET serves one committed transaction, and is cleared by it', async () => {
    await orm.query(`SET tenure.fence = '${led.setting}'`)
    await orm.query(WRITES.update)
    await refusedWith('TN002', orm.query(WRITES.update))
  })

  it('left over by SET of an old tenure serves nobody', async () => {
    await orm.query(`SET tenure.fence = '${led.setting}'`)
    await led.deposed()
    await refusedWith('TN001', orm.query(WRITES.update))
  })

  it('changed within a transaction is judged anew', async () => {
    const other = await bench.lead()
    await orm.query('BEGIN')
    await orm.query(`SET LOCAL tenure.fence = '${led.setting}'`)
    await orm.query(WRITES.update)
    await orm.query(`SET LOCAL tenure.fence = '${other.setting}'`)
    await refusedWith('TN001', orm.query(WRITES.update))
  })

  it('that one election let through is judged anew for the table of another, in the same transaction', async () => {
    const other = await bench.lead()
    await bench.postgres.sql('CREATE TABLE plain (id integer); GRANT ALL ON plain TO tenure_application')
    await bench.postgres.sql('SELECT tenure.guard_table($1, $2)', ['plain', other.fence.election])
    await orm.query('BEGIN')
    await orm.query(`SET LOCAL tenure.fence = '${led.setting}'`)
    await orm.query(WRITES.update)
    await refusedWith('TN001', orm.query('INSERT INTO plain VALUES (1)'))
  })

  it('cannot be made good by a forged memory of the guard', async () => {
    await led.deposed()
    await orm.query('BEGIN')
    await orm.query(`SET LOCAL tenure.fence = '${led.setting}'`)
    await orm.query(`SELECT set_config('tenure.guarded', ' ${led.fence.election} ${led.setting}', true)`)
    await orm.query('CREATE TEMP TABLE assigns_an_id ()')
    await refusedWith('TN001', orm.query(WRITES.update))
  })

  it('cannot be made good outside of a transaction by a memory that names none', async () => {
    await orm.query(`SET tenure.fence = 'x'`)
    await orm.query(`SELECT set_config('tenure.guarded', ' ${led.fence.election} x', false)`)
    await refusedWith('TN002', orm.query(WRITES.update))
  })

  it('of one client does not reach another behind a pooler in transaction mode', async (t) => {
    const path = await findPgbouncer()
    if (path === null)
      return process.env.CI ? assert.fail('pgbouncer is not installed') : t.skip('pgbouncer is not installed')
    const bouncer = await startPgbouncer(path, bench.postgres.server)
    const url = bouncer.url(bench.postgres.database)
    const pool = new pg.Pool({ connectionString: url, max: 8 })
    try {
      const rounds = Array.from({ length: 40 }, async (_, i) => {
        if (i % 2 === 0) {
          const result = await withFence(pool, led.fence, (connection) => connection.query(WRITES.update))
          assert.ok(result.ok)
        } else await refusedWith('TN002', pool.query(WRITES.update))
      })
      await Promise.all(rounds)
    } finally {
      await pool.end()
      await bouncer.stop()
    }
  })
})

describe('savepoints, blocks and prepared transactions', () => {
  it('a rollback to a savepoint drops the row lock, and the next write takes it again', async () => {
    await orm.query('BEGIN')
    await orm.query(`SET LOCAL tenure.fence = '${led.setting}'`)
    await orm.query('SAVEPOINT s')
    await orm.query(WRITES.update)
    await orm.query('ROLLBACK TO s')
    await led.deposed()
    await refusedWith('TN001', orm.query(WRITES.update))
  })

  it('a savepoint that is kept keeps the takeover waiting', async () => {
    await orm.query('BEGIN')
    await orm.query(`SET LOCAL tenure.fence = '${led.setting}'`)
    await orm.query('SAVEPOINT s')
    await orm.query(WRITES.update)
    await orm.query('RELEASE SAVEPOINT s')
    await led.runOut()
    assert.equal((await led.contend()).kind, 'contended')
    await orm.query('COMMIT')
  })

  it('a block that commits has to name its tenure in each transaction', async () => {
    const block = (second: string) => `DO $$ BEGIN
      PERFORM set_config('tenure.fence', '${led.setting}', true); UPDATE jobs SET note = 'a'; COMMIT;
      ${second} UPDATE jobs SET note = 'b'; END $$`
    await refusedWith('TN002', orm.query(block('')))
    await orm.query(block(`PERFORM set_config('tenure.fence', '${led.setting}', true);`))
  })

  it('a block that catches the refusal has written nothing', async () => {
    const before = await content()
    await orm.query(
      `DO $$ BEGIN UPDATE jobs SET note = 'b'; EXCEPTION WHEN SQLSTATE 'TN002' THEN NULL; END $$`,
    )
    assert.deepEqual(await content(), before)
  })

  it('a prepared transaction keeps the takeover waiting until it is decided', async () => {
    await orm.query('BEGIN')
    await orm.query(`SET LOCAL tenure.fence = '${led.setting}'`)
    await orm.query(WRITES.update)
    await orm.query(`PREPARE TRANSACTION 'held'`)
    await led.runOut()
    assert.equal((await led.contend()).kind, 'contended')
    await orm.query(`COMMIT PREPARED 'held'`)
    await led.takenOver()
  })
})

describe('guard_table', () => {
  const bind = (table: string, election: string) =>
    bench.postgres.sql('SELECT tenure.guard_table($1, $2)', [table, election])

  it('may be run again, and then covers the TRUNCATE of partitions that came later; rows are covered at once', async () => {
    await bench.postgres.sql(
      `CREATE TABLE jobs_as PARTITION OF jobs FOR VALUES IN ('as'); GRANT ALL ON jobs_as TO tenure_application`,
    )
    await refusedWith('TN002', orm.query(`INSERT INTO jobs_as (id, region) VALUES (1, 'as')`))
    await bind('jobs', led.fence.election)
    await refusedWith('TN002', orm.query('TRUNCATE jobs_as'))
  })

  it('of a parent takes the place of one on its partition', async () => {
    await bench.postgres.sql(
      `CREATE TABLE plain (id integer) PARTITION BY LIST (id); CREATE TABLE plain_1 PARTITION OF plain FOR VALUES IN (1)`,
    )
    await bind('plain_1', led.fence.election)
    await bind('plain', led.fence.election)
    await refusedWith('TN002', bench.postgres.sql('INSERT INTO plain_1 VALUES (1)'))
  })

  it('covers the children of plain inheritance', async () => {
    await bench.postgres.sql('CREATE TABLE plain (id integer); CREATE TABLE child () INHERITS (plain)')
    await bind('plain', led.fence.election)
    await refusedWith('TN002', bench.postgres.sql('INSERT INTO child VALUES (1)'))
    await refusedWith('TN002', bench.postgres.sql('TRUNCATE child'))
  })

  it('refuses a second election, what is no table, and a nameless election, with the remedy', async () => {
    const error = await refusedWith('55000', bind('jobs', 'another'))
    assert.match(error.hint ?? '', /tenure\.unguard_table\('public\.jobs/)
    await refusedWith('42809', bind('pg_stat_activity', 'x'))
    await refusedWith('22023', bind('jobs', ''))
  })

  it('says so where the guard is switched off, or another trigger has its name', async () => {
    await bench.postgres.sql('ALTER TABLE jobs DISABLE TRIGGER tenure_guard')
    assert.match((await refusedWith('55000', bind('jobs', led.fence.election))).message, /switched off/)
    await bench.postgres.sql(`CREATE TABLE plain (id integer);
      CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
      CREATE TRIGGER tenure_guard BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION nothing()`)
    await refusedWith('55000', bind('plain', led.fence.election))
  })

  it('may be run again whatever the encoding of the database', async () => {
    const database = await bench.postgres.server.createDatabase("ENCODING 'LATIN1' TEMPLATE template0")
    const sql = (text: string) => bench.postgres.server.query(text, [], database)
    await sql(migrationScript())
    await sql('CREATE TABLE jobs (id integer)')
    for (const _ of ['once', 'again']) await sql(`SELECT tenure.guard_table('jobs', 'flöte')`)
  })

  it('is undone by unguard_table', async () => {
    await bench.postgres.sql(`SELECT tenure.unguard_table('jobs')`)
    for (const what of ['insert', 'a partition truncated directly', 'truncate'] as const)
      await orm.query(WRITES[what])
    await bind('jobs', 'another')
  })

  it('needs the rights of the table owner, and the grants for it', async () => {
    await refusedWith('42501', orm.query(`SELECT tenure.guard_table('jobs', 'x')`))
    await bench.postgres.sql(
      `GRANT EXECUTE ON FUNCTION tenure.guard_table(regclass, text), tenure.guard_row() TO tenure_application`,
    )
    await orm.query('DROP TABLE IF EXISTS mine; CREATE TABLE mine (id integer)')
    await orm.query('SELECT tenure.guard_table($1, $2)', ['mine', led.fence.election])
    await refusedWith('TN002', orm.query('INSERT INTO mine VALUES (1)'))
    await orm.query('DROP TABLE mine')
  })
})
