import assert from 'node:assert/strict'
import { systemClock } from '../../src/clock/system-clock.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import { open } from '../../src/stores/postgres/store.ts'
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { queryUrl, startPostgres, testDatabase } from '../support/postgres.ts'
import { describeStore, type StoreHarness } from './suite.ts'

const LEAST_TTL_MS = 3_000

/** Moves every row back, as if that much time had gone by on the server. */
const FORWARD = `UPDATE tenure.lease SET
  acquired_at = acquired_at - make_interval(secs => $1::float8 / 1000),
  renewed_at = renewed_at - make_interval(secs => $1::float8 / 1000),
  released_at = released_at - make_interval(secs => $1::float8 / 1000),
  expires_at = CASE WHEN isfinite(expires_at) THEN expires_at - make_interval(secs => $1::float8 / 1000) ELSE expires_at END`

const ROW = `SELECT row_to_json(l)::text AS row FROM tenure.lease l WHERE election = $1`

/** `storeUrl` is what the store is given, `directUrl` what the harness looks and moves time with. */
async function harness(
  storeUrl: string,
  directUrl: string,
  supportsWatch: boolean,
  close: () => Promise<void>,
): Promise<StoreHarness> {
  const settings = { password: null, passwordFile: null }
  const context = { clock: systemClock(), note: () => undefined }
  const { applied } = await migrate({ ...settings, url: directUrl }, context)
  assert.ok(applied.length > 0)
  return {
    leastTtlMs: LEAST_TTL_MS,
    supportsWatch,
    open: () => open({ ...settings, url: storeUrl }, context),
    forwardMs: async (ms) => {
      await queryUrl(directUrl, FORWARD, [ms])
    },
    readRow: async (election) => {
      const [row] = await queryUrl<{ row: string }>(directUrl, ROW, [election])
      return row?.row ?? null
    },
    close,
  }
}

describeStore('PostgreSQL', async () => {
  const { url, dispose } = await testDatabase()
  return harness(url, url, true, dispose)
})

const pgbouncer = await findPgbouncer()
if (pgbouncer === null && process.env.CI === 'true') {
  throw new Error(
    'pgbouncer is missing: run `node scripts/prepare-tests.ts`, or install the package pgbouncer',
  )
}

describeStore(
  'PostgreSQL through PgBouncer in transaction mode',
  async () => {
    const server = await startPostgres()
    const database = await server.createDatabase()
    const bouncer = await startPgbouncer(pgbouncer ?? '', server)
    return harness(bouncer.url(database), server.url(database), false, async () => {
      await bouncer.stop()
      await server.dispose()
    })
  },
  { skip: pgbouncer === null ? 'PGBOUNCER IS NOT INSTALLED: run `node scripts/prepare-tests.ts`' : false },
)
