/** `tenure doctor` on PostgreSQL: poolers, what no paste can mend, and servers on which all is well. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { systemClock } from '../../src/clock/system-clock.ts'
import { complaints, diagnose, type Patient, testPlanted } from '../support/doctor.ts'
import { held } from '../support/doctor-planted.ts'
import { PASSWORD, PostgresClinic, patientOf } from '../support/doctor-postgres.ts'
import { ShiftedClock } from '../support/kubernetes/shifted-clock.ts'
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'

const clinic = await PostgresClinic.start()
const { server } = clinic
const sound = await clinic.place()
const pgbouncer = await findPgbouncer()

describe('behind a pooler', { skip: pgbouncer === null && 'pgbouncer is not installed' }, () => {
  /** A patient that reaches its database through a pooler of its own. */
  async function through(mode: 'session' | 'transaction' | 'statement'): Promise<Patient> {
    const pooler = await startPgbouncer(pgbouncer ?? '', server, mode)
    after(() => pooler.stop())
    return patientOf(pooler.url((await clinic.place()).database))
  }

  testPlanted(
    [
      {
        status: 'warning',
        code: 0,
        title: 'the pooler through which nobody is woken',
        plant: () => through('transaction'),
        check: 'pooler',
        found: /through a pooler in transaction mode/,
        paste: /^--store \S*postgres:/,
      },
    ],
    clinic.apply,
  )

  test('in session mode nothing but the wake-ups is missed', async () => {
    const lines = complaints(await diagnose(await through('session')))
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0] ?? '', /^warning pooler: .*session mode/)
  })

  test('in statement mode it says that nothing can be fenced', async () => {
    const { code, checks } = await diagnose(await through('statement'))
    const named = checks.find(({ name, status }) => name === 'pooler' && status === 'fault')
    assert.match(named?.found ?? '', /statement mode/)
    assert.match(named?.remedy?.advice ?? '', /pool_mode = transaction/)
    assert.equal(code, 2)
  })
})

describe('where nothing can be pasted it still says what to do', () => {
  /** The fault of that name. */
  async function faultOf(name: string, patient: Patient) {
    const { code, checks } = await diagnose(patient)
    const named = checks.find((check) => check.name === name && check.status === 'fault')
    assert.ok(named, JSON.stringify(checks))
    return { code, found: named.found, advice: named.remedy?.advice ?? '' }
  }

  test('about a port on which nobody listens', async () => {
    const { code, found, advice } = await faultOf('server', patientOf('postgres://a@127.0.0.1:1/b'))
    assert.match(
      `${code} ${found}: ${advice}`,
      /^4 127\.0\.0\.1:1: .*ECONNREFUSED.*: start the server, or correct host/,
    )
  })

  test('about a name that nobody knows', async () => {
    const { code, advice } = await faultOf('server', patientOf('postgres://a@nowhere.invalid/b'))
    assert.match(`${code} ${advice}`, /^4 .*DNS/)
  })

  test('about a wrong password, which it does not repeat', async () => {
    const { database } = await clinic.place()
    const role = await server.createRole(`PASSWORD '${PASSWORD}'`, 'secret')
    const patient = {
      ...patientOf(server.url(database, role)),
      environment: { TENURE_STORE_PASSWORD: 'wrong one' },
    }
    const { code, found, advice } = await faultOf('server', patient)
    assert.match(`${code} ${found}: ${advice}`, /^4 .*password authentication failed.*--store-password-file/)
    assert.doesNotMatch(found + advice, /wrong one/)
  })

  test('about a server without TLS where TLS is asked for', async () => {
    const { database, role } = await clinic.place()
    const { code, advice } = await faultOf(
      'server',
      patientOf(server.url(database, role).replace('disable', 'require')),
    )
    assert.match(`${code} ${advice}`, /^2 .*sslmode/)
  })

  test('about a schema of a newer Tenure', async () => {
    const patient = await clinic.changed(`INSERT INTO tenure.migration VALUES (9001, 'other', true)`)
    const { code, found, advice } = await faultOf('schema', patient)
    assert.match(`${code} ${found}: ${advice}`, /^5 .*9001 \(other\).*run the version of Tenure/)
  })

  test('about a table that somebody locks', async () => {
    const { database, patient } = await clinic.place()
    const locker = await lockLeases(server.url(database))
    try {
      const { code, advice } = await faultOf('writable', patient)
      assert.match(`${code} ${advice}`, /^4 .*pg_locks/)
    } finally {
      await locker.end()
    }
  })

  test('about a clock that differs by more than half the margin', async () => {
    const clock = new ShiftedClock(systemClock())
    clock.forward(60_000)
    const { code, checks } = await diagnose({ ...sound.patient, clock })
    const named = checks.find(({ name }) => name === 'clock')
    assert.equal(`${code} ${named?.status}`, '0 warning')
    assert.match(named?.found ?? '', /60\.0 s behind this host's/)
    assert.match(named?.remedy?.advice ?? '', /synchronise both hosts/)
  })
})

test('a sound store is left alone: no complaint, no row changed, none added', async () => {
  const { database, sql, patient } = await clinic.place()
  await held(server.url(database), 'default', 'web-1')
  const rows = () => sql('SELECT xmin, l.* FROM tenure.lease l')
  const before = await rows()
  assert.deepEqual(complaints(await diagnose(patient)), [])
  assert.deepEqual(await rows(), before)
})

test('of several hosts one that is away is a warning', async () => {
  const { database, role } = await clinic.place()
  const url = server.url(database, role).replace('127.0.0.1', '127.0.0.1:1,127.0.0.1')
  const diagnosis = await diagnose(patientOf(url))
  assert.equal(diagnosis.code, 0)
  const lines = complaints(diagnosis)
  assert.equal(lines.length, 1, lines.join('\n'))
  assert.match(lines[0] ?? '', /^warning server: 127\.0\.0\.1:1: .*ECONNREFUSED/)
})

test('an observer needs to read only', async () => {
  const { patient } = await clinic.place({ without: ['write', 'seed'] })
  assert.deepEqual(complaints(await diagnose({ ...patient, argv: [...patient.argv, '--observer'] })), [])
})

/** A session that keeps everybody from writing leases. */
async function lockLeases(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE tenure.lease IN SHARE MODE')
  return client
}
