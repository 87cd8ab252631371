/** `tenure doctor` on a PostgreSQL server that has a standby. */
import { after, describe } from 'node:test'
import { type Patient, type Planted, testPlanted } from '../support/doctor.ts'
import { PostgresClinic } from '../support/doctor-postgres.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { until } from '../support/sidecar.ts'

const clinic = await PostgresClinic.start()
const { server } = clinic
const { database } = await clinic.place()
const standby = await server.startStandby()
after(() => standby.dispose())
await until('the standby follows', async () => {
  const rows = await server.query(`SELECT FROM pg_stat_replication WHERE state = 'streaming'`)
  return rows.length > 0 ? true : null
})

function patientOf({ port }: PostgresServer): Patient {
  return { argv: ['--store', server.url(database).replace(String(server.port), String(port))] }
}

const PLANTED: readonly Planted[] = [
  {
    title: 'a standby that follows asynchronously',
    plant: () => patientOf(server),
    check: 'replicas',
    status: 'warning',
    found: /a standby follows asynchronously/,
    code: 0,
    paste: /^ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 \(\*\)';\n/,
  },
  {
    title: 'the standby in the place of the primary',
    plant: () => patientOf(standby),
    check: 'server',
    status: 'fault',
    found: /is a standby/,
    code: 4,
    paste: /^--store '?postgres:/,
  },
  {
    title: 'commits that wait for a standby that is gone',
    plant: async () => {
      await standby.stop()
      await until('the server has seen it go', async () => {
        const rows = await server.query('SELECT FROM pg_stat_replication')
        return rows.length === 0 ? true : null
      })
      return patientOf(server)
    },
    check: 'replicas',
    status: 'fault',
    found: /none of them is there/,
    code: 4,
    paste: /^ALTER SYSTEM SET synchronous_standby_names = '';\n/,
  },
]

describe('on PostgreSQL with a standby', () => testPlanted(PLANTED, clinic.apply))
