/** Databases to plant faults in, and `psql` in the hands of an administrator. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after } from 'node:test'
import { systemClock } from '../../src/clock/system-clock.ts'
import { grantsFor, historyGrantFor, RIGHTS, type Right } from '../../src/stores/postgres/grants.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import { type Apply, applyAnywhere, installTenure, type Patient } from './doctor.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'
import { settingsFor } from './postgres-bench.ts'
import { until } from './sidecar.ts'
import { tempFolder } from './temp.ts'

export const PASSWORD = 'right one'

export interface Place {
  readonly database: string
  readonly role: string
  readonly patient: Patient
  sql(text: string): Promise<unknown>
}

interface PlaceOptions {
  /** Rights of a candidate that its role lacks. */
  readonly without?: readonly Right[]
  readonly migrated?: boolean
}

export function patientOf(url: string): Patient {
  return { argv: ['--store', url], environment: { TENURE_STORE_PASSWORD: PASSWORD } }
}

/** A server for one test file. */
export class PostgresClinic {
  readonly server: PostgresServer
  readonly #bin: string

  private constructor(server: PostgresServer, bin: string) {
    this.server = server
    this.#bin = bin
  }

  static async start(): Promise<PostgresClinic> {
    const server = await startPostgres({ settings: { fsync: 'on' } })
    after(() => server.dispose())
    const temp = tempFolder()
    after(() => temp.remove())
    return new PostgresClinic(server, installTenure(temp.path))
  }

  /** A database of its own, and a role that has the rights of a candidate. */
  async place({ without = [], migrated = true }: PlaceOptions = {}): Promise<Place> {
    const { server } = this
    const database = await server.createDatabase()
    const role = await server.createRole(`PASSWORD '${PASSWORD}'`)
    const sql = (text: string) => server.query(text, [], database)
    if (migrated) {
      await migrate(settingsFor(server.url(database)), { clock: systemClock(), note: () => undefined })
      const rights = RIGHTS.filter((right) => !without.includes(right))
      await sql(grantsFor(rights, role))
      await sql(historyGrantFor(role))
    }
    return { database, role, sql, patient: patientOf(server.url(database, role)) }
  }

  /** A place, changed by somebody: ROLE and DATABASE stand for its own. */
  async changed(...statements: readonly string[]): Promise<Patient> {
    const { sql, role, database, patient } = await this.place()
    for (const text of statements) {
      await sql(text.replaceAll('ROLE_', role).replaceAll('DATABASE_', database))
    }
    return patient
  }

  /** Returns once the server has read its settings anew. */
  async reload(): Promise<void> {
    const loaded = async (): Promise<number> => {
      const [row] = await this.server.query<{ at: Date }>('SELECT pg_conf_load_time() AS at')
      return row?.at.getTime() ?? 0
    }
    const before = await loaded()
    await this.server.query('SELECT pg_reload_conf()')
    await until('the server has read its settings', async () => ((await loaded()) > before ? true : null))
  }

  async prependHba(line: string): Promise<void> {
    const [row] = await this.server.query<{ path: string }>(`SELECT current_setting('hba_file') AS path`)
    assert.ok(row)
    writeFileSync(row.path, `${line}\n${readFileSync(row.path, 'utf8')}`)
    await this.reload()
  }

  readonly apply: Apply = async (paste, patient) => {
    if (paste.into === 'pg_hba.conf') {
      await this.prependHba(paste.text)
      return patient
    }
    if (paste.into !== 'sql') return applyAnywhere(paste, patient, this.#bin)
    const database = new URL(patient.argv[1] ?? '').pathname.slice(1)
    // Statement by statement, as psql does it.
    for (const statement of paste.text.split('\n')) {
      if (statement.includes('pg_reload_conf')) await this.reload()
      else
        await this.server.query(
          statement,
          [],
          statement.startsWith('CREATE DATABASE') ? 'postgres' : database,
        )
    }
    return patient
  }
}
