/** What the helpers need of `pg`, so that they import nothing of it: a Client, a PoolClient or a Pool will do. */

export interface Rows {
  readonly rows: unknown[]
  readonly rowCount: number | null
  /** The command's name; ROLLBACK for a COMMIT that could not commit. */
  readonly command: string
}

/** One connection. */
export interface Connection {
  query(text: string, values?: unknown[]): Promise<Rows>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  /** `I` outside of a transaction; where the driver can tell. */
  getTransactionStatus?(): string | null
}

interface PooledConnection extends Connection {
  release(destroy?: boolean): void
}

export interface Pool {
  readonly totalCount: number
  connect(): Promise<PooledConnection>
  query(text: string, values?: unknown[]): Promise<Rows>
}

/** A connection and what gives it back. */
export interface Taken {
  readonly connection: Connection
  giveBack(usable: boolean): void
}

/** A connection of one's own is only lent. */
export async function take(database: Connection | Pool): Promise<Taken> {
  if (!isPool(database)) return { connection: database, giveBack: () => undefined }
  const connection = await database.connect()
  return { connection, giveBack: (usable) => connection.release(!usable) }
}

function isPool(database: Connection | Pool): database is Pool {
  return 'totalCount' in database
}
