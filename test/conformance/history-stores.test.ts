/** The rules of the history against every store that keeps one. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '../../src/clock/system-clock.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import { open } from '../../src/stores/postgres/store.ts'
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { queryUrl, startPostgres, testDatabase } from '../support/postgres.ts'
import { RULES } from './history-rules.ts'
import { DAY_MS, type Place, Scene } from './history-scene.ts'
import { SqlitePlace } from './sqlite-place.ts'

function describeHistory(name: string, make: () => Promise<Place>, skip: string | false = false): void {
  describe(`history: ${name}`, { skip }, () => {
    let place: Place | undefined
    before(async () => {
      place = await make()
    })
    after(() => place?.close())
    for (const [rule, check] of Object.entries(RULES)) {
      it(rule, { timeout: 60_000 }, async () => {
        assert.ok(place !== undefined)
        const scene = new Scene(place)
        try {
          await check(scene, place)
        } finally {
          await scene.close()
        }
      })
    }
  })
}

async function sqlitePlace(): Promise<Place> {
  const place = new SqlitePlace()
  await place.open()
  const database = new DatabaseSync(place.path, { timeout: 5_000 })
  return {
    open: () => place.open(),
    forwardMs: async (ms) => place.machine.advance(ms),
    deleteLease: async (election) => {
      database.prepare('DELETE FROM lease WHERE election = ?').run(election)
    },
    fill: async (election, rows, days) => {
      const insert = database.prepare(
        `INSERT INTO history (election, generation, began_ms, ended_ms, reason) VALUES (?, ?, ?, ?, 'lost')`,
      )
      const endedMs = place.machine.date() - days * DAY_MS
      for (let i = 1; i <= rows; i++) insert.run(election, i, endedMs - 1, endedMs)
    },
    count: async (election) =>
      Number(database.prepare('SELECT count(*) AS n FROM history WHERE election = ?').get(election)?.n),
    close: async () => {
      database.close()
      await place.close()
    },
  }
}

async function postgresPlace(storeUrl: string, url: string, close: () => Promise<void>): Promise<Place> {
  const settings = { password: null, passwordFile: null }
  const context = { clock: systemClock(), note: () => undefined }
  await migrate({ ...settings, url }, context)
  return {
    open: () => open({ ...settings, url: storeUrl }, context),
    forwardMs: async (ms) => {
      const by = 'make_interval(secs => $1::float8 / 1000)'
      await queryUrl(
        url,
        `WITH h AS (UPDATE tenure.history SET began_at = began_at - ${by}, ended_at = ended_at - ${by})
         UPDATE tenure.lease SET acquired_at = acquired_at - ${by}, renewed_at = renewed_at - ${by},
           released_at = released_at - ${by}, expires_at = CASE WHEN isfinite(expires_at) THEN expires_at - ${by} ELSE expires_at END`,
        [ms],
      )
    },
    deleteLease: async (election) => {
      await queryUrl(url, 'DELETE FROM tenure.lease WHERE election = $1', [election])
    },
    fill: async (election, rows, days) => {
      await queryUrl(
        url,
        `INSERT INTO tenure.history (election, generation, began_at, ended_at, reason)
         SELECT $1, i, now() - make_interval(days => $3::int4), now() - make_interval(days => $3::int4), 'lost'
         FROM generate_series(1, $2::int4) i`,
        [election, rows, days],
      )
    },
    count: async (election) => {
      const [row] = await queryUrl<{ n: number }>(
        url,
        'SELECT count(*)::int4 AS n FROM tenure.history WHERE election = $1',
        [election],
      )
      return row?.n ?? Number.NaN
    },
    close,
  }
}

describeHistory('SQLite', sqlitePlace)

describeHistory('PostgreSQL', async () => {
  const { url, dispose } = await testDatabase()
  return postgresPlace(url, url, dispose)
})

const pgbouncer = await findPgbouncer()

describeHistory(
  'PostgreSQL through PgBouncer in transaction mode',
  async () => {
    const server = await startPostgres()
    const database = await server.createDatabase()
    const bouncer = await startPgbouncer(pgbouncer ?? '', server)
    return postgresPlace(bouncer.url(database), server.url(database), async () => {
      await bouncer.stop()
      await server.dispose()
    })
  },
  pgbouncer === null && process.env.CI !== 'true'
    ? 'PGBOUNCER IS NOT INSTALLED: run `node scripts/prepare-tests.ts`'
    : false,
)
