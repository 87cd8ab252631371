/** One connection to a server, and what was found out about it. */
import type pg from 'pg'
import type { Clock, Instant } from '../../clock/clock.ts'
import { untilAborted } from '../deadline.ts'
import type { Right } from './grants.ts'
import type { Host } from './location.ts'

/** How long a polite goodbye may take. */
const END_TIMEOUT_MS = 500

/** What the server says about itself and about our rights on it. */
export interface Facts {
  readonly standby: boolean
  readonly readOnly: boolean
  /** The server process that answers; not the one we connected to where a pooler stands between. */
  readonly pid: number
  /** The role, quoted as SQL wants it. */
  readonly role: string
  readonly hasSchema: boolean
  readonly hasTables: boolean
  readonly missing: readonly Right[]
}

const FACTS = `
SELECT pg_catalog.pg_is_in_recovery() AS standby,
  pg_catalog.current_setting('transaction_read_only') = 'on' AS read_only,
  pg_catalog.pg_backend_pid() AS pid,
  pg_catalog.quote_ident(CURRENT_USER) AS role,
  n.oid IS NOT NULL AS has_schema,
  l.oid IS NOT NULL AND m.oid IS NOT NULL AS has_tables,
  pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS usage,
  pg_catalog.has_table_privilege(l.oid, 'SELECT') AS read,
  pg_catalog.has_table_privilege(l.oid, 'UPDATE') AS write,
  pg_catalog.has_table_privilege(l.oid, 'INSERT') AS seed,
  pg_catalog.has_table_privilege(m.oid, 'SELECT') AS version
FROM (SELECT 1) AS one
LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = 'tenure'
LEFT JOIN pg_catalog.pg_class l ON l.relnamespace = n.oid AND l.relname = 'lease'
LEFT JOIN pg_catalog.pg_class m ON m.relnamespace = n.oid AND m.relname = 'migration'`

interface FactsRow extends Readonly<Record<Right, boolean | null>> {
  readonly standby: boolean
  readonly read_only: boolean
  readonly pid: number
  readonly role: string
  readonly has_schema: boolean
  readonly has_tables: boolean
}

export class Session {
  readonly client: pg.Client
  readonly host: Host
  readonly openedAt: Instant
  #broken = false

  constructor(client: pg.Client, host: Host, openedAt: Instant) {
    this.client = client
    this.host = host
    this.openedAt = openedAt
    const broke = () => {
      this.#broken = true
    }
    client.on('error', broke)
    client.on('end', broke)
  }

  /** Whether the connection has ended, by itself or by us. */
  get broken(): boolean {
    return this.#broken
  }

  /** Runs one statement by itself. When the signal aborts, rejects at once; destroy the session then. */
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
    signal: AbortSignal,
  ): Promise<readonly Row[]> {
    signal.throwIfAborted()
    const { rows } = await untilAborted(this.client.query<Row>({ text, values: [...values] }), signal)
    return rows
  }

  /** Runs several statements without parameters. */
  async script(text: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await untilAborted(this.client.query(text), signal)
  }

  async facts(signal: AbortSignal): Promise<Facts> {
    const [row] = await this.query<FactsRow & pg.QueryResultRow>(FACTS, [], signal)
    if (row === undefined) throw new Error('the server answered a question about itself with no row')
    return {
      standby: row.standby,
      readOnly: row.read_only,
      pid: row.pid,
      role: row.role,
      hasSchema: row.has_schema,
      hasTables: row.has_tables,
      missing: (['usage', 'read', 'write', 'seed', 'version'] as const).filter(
        (right) => row[right] === false,
      ),
    }
  }

  /** Ends the connection now, whatever it is doing. */
  destroy(): void {
    this.#broken = true
    this.client.connection.stream.destroy()
  }

  /** Says goodbye to the server, for a short time at most. */
  async end(clock: Clock): Promise<void> {
    this.#broken = true
    const cancel = clock.after(END_TIMEOUT_MS, () => this.destroy())
    await this.client.end()
    cancel()
  }
}
