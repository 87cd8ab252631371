import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { grantsFor, RIGHTS } from '../../src/stores/postgres/grants.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import type { LeaseStore } from '../../src/stores/store.ts'
import { queryUrl } from '../support/postgres.ts'
import {
  attempt,
  failsWith,
  newCandidate,
  newElection,
  PostgresBench,
  settingsFor,
  win,
} from '../support/postgres-bench.ts'

// The WAL writer would flush soon what a commit did not: it is put to sleep, so that the difference shows.
const bench = await PostgresBench.start({ settings: { autovacuum: 'off', wal_writer_delay: '10s' } })

/** A role with the rights of a candidate and these settings. */
async function role(settings: readonly string[], prefix = 'role'): Promise<string> {
  const name = await bench.server.createRole('', prefix)
  await bench.sql(grantsFor(RIGHTS, name))
  for (const setting of settings) await bench.sql(`ALTER ROLE ${name} SET ${setting}`)
  return name
}

async function storeOf(name: string): Promise<LeaseStore> {
  return bench.open({ url: bench.server.url(bench.database, name) })
}

/** A whole life of a tenure, each step of which must do what it always does. */
async function lives(store: LeaseStore): Promise<void> {
  const election = newElection()
  const who = newCandidate('somebody')
  const first = await win(store, election, who, { ttlMs: 5_000 })
  const left = await bench.leftMs(election)
  assert.ok(left > 3_000 && left <= 5_000, `${left} ms`)
  const view = await store.current(election, attempt())
  assert.equal(view?.holder, 'somebody')
  assert.ok(view?.remainingMs !== null && view.remainingMs > 3_000 && view.remainingMs <= 5_000)
  const aheadMs = Date.parse(view.expiresAt ?? '') - Date.now()
  assert.ok(Math.abs(aheadMs - 5_000) < 2_000, `expires ${view.expiresAt}`)
  assert.equal((await store.renew(first, 10_000, attempt())).kind, 'granted')
  assert.ok((await bench.leftMs(election)) > 8_000)
  const refused = await store.acquire(election, newCandidate(), { ttlMs: 5_000, above: 9 }, attempt())
  assert.ok(refused.kind === 'refused' && refused.remainingMs !== null && refused.remainingMs > 8_000)
  assert.equal((await store.release(first, attempt())).kind, 'released')
  const second = await win(store, election, newCandidate(), { above: first.generation })
  assert.ok(second.leaderlessMs !== null && second.leaderlessMs < 2_000)
  assert.equal((await store.release(first, attempt())).kind, 'lost')
}

describe('settings of the role change nothing', () => {
  it('time zone and styles', async () => {
    await lives(
      await storeOf(
        await role([
          `timezone = 'Pacific/Chatham'`,
          `datestyle = 'German, DMY'`,
          `intervalstyle = 'iso_8601'`,
          'extra_float_digits = -15',
          'lock_timeout = 1',
          'standard_conforming_strings = off',
        ]),
      ),
    )
  })

  for (const isolation of ['repeatable read', 'serializable']) {
    it(`default_transaction_isolation = ${isolation}: of many that acquire at once one wins, and nobody fails`, async () => {
      const name = await role([`default_transaction_isolation = '${isolation}'`])
      const stores = await Promise.all(Array.from({ length: 8 }, () => storeOf(name)))
      await lives(stores[0] as LeaseStore)
      const election = newElection()
      let above = 0
      for (let round = 0; round < 10; round++) {
        const options = { ttlMs: 10_000, above }
        const crowd = stores.map((store) => ({ store, who: newCandidate() }))
        const results = await Promise.all(
          crowd.map(async ({ store, who }) => ({
            store,
            who,
            ...(await store.acquire(election, who, options, attempt())),
          })),
        )
        const won = results.filter(({ kind }) => kind === 'granted')
        assert.ok(won.length <= 1, `${won.length} winners`)
        const [winner] = won
        if (winner?.kind !== 'granted') continue
        assert.ok(winner.generation > above)
        above = winner.generation
        const tenure = { election, session: winner.who.session, generation: above }
        assert.equal((await winner.store.release(tenure, attempt())).kind, 'released')
      }
      assert.ok(above >= 5, `only generation ${above} after 10 rounds`)
    })
  }

  it('synchronous_commit = off: a write that was reported is on disk', async () => {
    const name = await role(['synchronous_commit = off'])
    const url = bench.server.url(bench.database, name)
    const store = await storeOf(name)
    await lives(store)
    const tenure = await win(store, newElection(), newCandidate())
    const flushed = async (write: () => Promise<unknown>) => {
      let count = 0
      for (let i = 0; i < 20; i++) {
        await write()
        const [row] = await bench.sql<{ on_disk: boolean }>(
          'SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() AS on_disk',
        )
        if (row?.on_disk) count++
      }
      return count
    }
    const plain = `UPDATE tenure.lease SET ttl_ms = ttl_ms WHERE election = $1`
    assert.ok(
      (await flushed(() => queryUrl(url, plain, [tenure.election]))) < 10,
      'the setting has its effect',
    )
    assert.ok((await flushed(() => store.renew(tenure, 10_000, attempt()))) > 18)
  })

  it('search_path with functions and types that pretend to be those of the system', async () => {
    await bench.sql(`
      CREATE SCHEMA hostile;
      CREATE FUNCTION hostile.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '2000-01-01'::timestamptz $$;
      CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '2000-01-01'::timestamptz $$;
      CREATE FUNCTION hostile.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'no' $$;
      CREATE FUNCTION hostile.make_interval(secs double precision) RETURNS interval LANGUAGE sql AS $$ SELECT '-1 day'::interval $$;
      CREATE FUNCTION hostile.isfinite(timestamptz) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
      CREATE FUNCTION hostile.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
      CREATE FUNCTION hostile.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
      CREATE FUNCTION hostile.timezone(text, timestamptz) RETURNS timestamp LANGUAGE sql AS $$ SELECT '2000-01-01'::timestamp $$;
      CREATE FUNCTION hostile.ceil(numeric) RETURNS numeric LANGUAGE sql AS $$ SELECT -1::numeric $$;
      CREATE DOMAIN hostile.int8 AS pg_catalog.int8 CHECK (VALUE < 0);
      CREATE DOMAIN hostile.text AS pg_catalog.text CHECK (VALUE = 'no');
      CREATE DOMAIN hostile.uuid AS pg_catalog.uuid CHECK (VALUE IS NULL);
      CREATE TABLE hostile.pg_namespace (nspname name, oid oid);
      GRANT USAGE ON SCHEMA hostile TO PUBLIC;
      GRANT SELECT ON hostile.pg_namespace TO PUBLIC`)
    await lives(await storeOf(await role(['search_path = hostile, pg_catalog'])))
  })
})

describe('a role that may not', () => {
  it('learns which GRANT is missing, step by step, and goes on once it is given', async () => {
    const name = await bench.server.createRole()
    const store = await storeOf(name)
    const election = newElection()
    const acquire = () => store.acquire(election, newCandidate(), { ttlMs: 10_000, above: 0 }, attempt())
    assert.match(await failsWith(acquire(), 'denied'), new RegExp(`GRANT USAGE ON SCHEMA tenure TO ${name};`))
    await bench.sql(grantsFor(['usage'], name))
    const read = await failsWith(acquire(), 'denied')
    assert.match(read, new RegExp(`GRANT SELECT ON tenure.lease TO ${name};`))
    assert.doesNotMatch(read, /GRANT USAGE/)
    await bench.sql(grantsFor(['read'], name))
    const version = await failsWith(acquire(), 'denied')
    assert.match(version, new RegExp(`GRANT SELECT ON tenure.migration TO ${name};`))
    await bench.sql(grantsFor(['version'], name))
    const write = await failsWith(acquire(), 'denied')
    assert.match(write, new RegExp(`GRANT UPDATE ON tenure.lease TO ${name};`))
    await bench.sql(grantsFor(['write'], name))
    const seed = await failsWith(acquire(), 'denied')
    assert.match(seed, new RegExp(`GRANT INSERT ON tenure.lease TO ${name};`))
    assert.doesNotMatch(seed, /GRANT UPDATE/)
    await bench.sql(grantsFor(['seed'], name))
    assert.equal((await acquire()).kind, 'granted')
  })

  it('seed needs no INSERT where the row is there, and an observer needs to read only', async () => {
    const name = await bench.server.createRole()
    await bench.sql(grantsFor(['usage', 'read', 'version', 'write'], name))
    const other = await bench.open()
    const tenure = await win(other, newElection(), newCandidate())
    await other.release(tenure, attempt())
    const above = tenure.generation
    await win(await storeOf(name), tenure.election, newCandidate(), { above })
    const observer = await bench.server.createRole()
    await bench.sql(grantsFor(['usage', 'read', 'version'], observer))
    const view = await (await storeOf(observer)).current(tenure.election, attempt())
    assert.equal(view?.generation, above + 1)
  })

  it('write at all is told the setting to change', async () => {
    const name = await role(['default_transaction_read_only = on'])
    const store = await storeOf(name)
    const message = await failsWith(store.current(newElection(), attempt()), 'denied')
    assert.match(message, new RegExp(`ALTER ROLE ${name} SET default_transaction_read_only = off`))
  })

  it('ask for the lineage leads all the same, and a note says once what is lost', async () => {
    await bench.sql('REVOKE EXECUTE ON FUNCTION pg_catalog.pg_control_system() FROM PUBLIC')
    try {
      const store = await storeOf(await role([]))
      const count = bench.notes.length
      await lives(store)
      const [a, b] = [store, store].map((one) => win(one, newElection(), newCandidate()))
      await Promise.all([a, b])
      assert.equal(bench.notes.length, count + 1)
      assert.match(bench.notes.at(-1) ?? '', /system identifier and timeline/)
    } finally {
      await bench.sql('GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO PUBLIC')
    }
  })
})

describe('logging in', () => {
  it('with a wrong password is denied; a password file is read anew at each connect', async () => {
    const name = await role([], 'secret')
    await bench.sql(`ALTER ROLE ${name} PASSWORD 'right:/@ one'`)
    const url = bench.server.url(bench.database, name)
    const passwordFile = join(bench.server.home, 'password')
    const store = await bench.open({ url, settings: { passwordFile } })
    const ask = () => store.current(newElection(), attempt())
    assert.match(await failsWith(ask(), 'misconfigured'), /password file .* cannot be read/)
    await writeFile(passwordFile, 'wrong\n')
    const message = await failsWith(ask(), 'denied')
    assert.match(message, /password authentication failed/)
    assert.doesNotMatch(message, /wrong/)
    await writeFile(passwordFile, 'right:/@ one\n')
    assert.equal(await ask(), null)
    await rm(passwordFile)
    const inSetting = await bench.open({ url, settings: { password: 'right:/@ one' } })
    assert.equal(await inSetting.current(newElection(), attempt()), null)
    const withPassword = url.replace(name, `${name}:${encodeURIComponent('right:/@ one')}`)
    const inUrl = await bench.open({ url: withPassword })
    assert.equal(await inUrl.current(newElection(), attempt()), null)
    assert.doesNotMatch(inUrl.location, /right/)
  })

  it('without any password, where one is asked for, says how to give one', async () => {
    const name = await role([], 'secret')
    const store = await storeOf(name)
    assert.match(
      await failsWith(store.current(newElection(), attempt()), 'denied'),
      /password file, PGPASSWORD/,
    )
  })

  it('to a database that is not there names it', async () => {
    const store = await bench.open({ url: bench.server.url('nowhere') })
    assert.match(
      await failsWith(store.current(newElection(), attempt()), 'misconfigured'),
      /"nowhere".*create the database/,
    )
  })
})

describe('the schema', () => {
  it('that is missing asks for `tenure migrate`, and serves once that ran', async () => {
    const url = bench.server.url(await bench.server.createDatabase())
    const store = await bench.open({ url })
    assert.match(await failsWith(store.current(newElection(), attempt()), 'schema'), /tenure migrate/)
    await queryUrl(url, 'CREATE SCHEMA tenure')
    assert.match(await failsWith(store.current(newElection(), attempt()), 'schema'), /tenure migrate/)
    await migrate(settingsFor(url), bench.context())
    assert.equal(await store.current(newElection(), attempt()), null)
  })

  it('that vanishes under a running store asks for it too', async () => {
    const url = bench.server.url(await bench.server.createDatabase())
    await migrate(settingsFor(url), bench.context())
    const store = await bench.open({ url })
    const tenure = await win(store, newElection(), newCandidate())
    await queryUrl(url, 'DROP SCHEMA tenure CASCADE')
    assert.match(await failsWith(store.renew(tenure, 10_000, attempt()), 'schema'), /tenure migrate/)
  })

  it('that is newer is refused only where its migration is breaking', async () => {
    const url = bench.server.url(await bench.server.createDatabase())
    await migrate(settingsFor(url), bench.context())
    const store = await bench.open({ url })
    await queryUrl(
      url,
      `INSERT INTO tenure.migration (number, name, breaking) VALUES (9000, 'additive', false)`,
    )
    assert.equal(await store.current(newElection(), attempt()), null)
    await queryUrl(url, `INSERT INTO tenure.migration (number, name, breaking) VALUES (9001, 'other', true)`)
    const fresh = await bench.open({ url })
    assert.match(
      await failsWith(fresh.current(newElection(), attempt()), 'schema'),
      /9001 \(other\).*newer Tenure/,
    )
    await failsWith(migrate(settingsFor(url), bench.context()), 'schema')
  })
})
