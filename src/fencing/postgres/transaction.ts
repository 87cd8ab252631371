/** Fenced transactions, from begin to end. */
import type { Fence, Fenced } from '../fence.ts'
import { type Connection, type Pool, take } from './connection.ts'
import { guard, guardResources, setFence } from './guards.ts'
import { lend } from './lent.ts'
import { catchStale } from './stale.ts'

const BEGIN = {
  'read committed': 'BEGIN ISOLATION LEVEL READ COMMITTED',
  'repeatable read': 'BEGIN ISOLATION LEVEL REPEATABLE READ',
  serializable: 'BEGIN ISOLATION LEVEL SERIALIZABLE',
} as const

/** The protocol's words for a connection that is in no transaction, and for one that is in one. */
const IDLE = 'I'
const INSIDE = 'T'

export interface TransactionOptions {
  /** Default: `read committed`. With the others a guard may also fail with `40001`: begin all of it anew then. */
  readonly isolation?: keyof typeof BEGIN
}

/** What is done behind a guard, over the connection that it is given. */
export type Work<T> = (connection: Connection) => Promise<T>

type First = (connection: Connection) => Promise<Fenced<void>>

/**
 * Runs `work` in a transaction behind the strict guard, and commits. `database` is a pool, or a connection that is
 * in no transaction.
 *
 * `work` writes over the connection that it is given, which is taken back when it has settled. When stale, or when
 * it throws, nothing is written. What `work` throws is thrown on, unless it is a guard's
 * refusal, which is a value. Work that outlasts the ttl is ended by the server, with its connection.
 */
export function withGuard<T>(
  database: Connection | Pool,
  fence: Fence,
  work: Work<T>,
  options: TransactionOptions = {},
): Promise<Fenced<T>> {
  return transaction(database, (connection) => guard(connection, fence), work, options)
}

/** As `withGuard`, behind the high-water guard of these resources; not bounded in time. */
export function withResourceGuard<T>(
  database: Connection | Pool,
  fence: Fence,
  resources: readonly string[],
  work: Work<T>,
  options: TransactionOptions = {},
): Promise<Fenced<T>> {
  return transaction(database, (connection) => guardResources(connection, fence, resources), work, options)
}

/** As `withGuard`, leaving the refusal to the tables that have a table guard. */
export function withFence<T>(
  database: Connection | Pool,
  fence: Fence,
  work: Work<T>,
  options: TransactionOptions = {},
): Promise<Fenced<T>> {
  return transaction(database, (connection) => setFence(connection, fence), work, options)
}

/** Connections with a fenced transaction on them: a second one would be part of the first. */
const busy = new WeakSet<Connection>()

async function transaction<T>(
  database: Connection | Pool,
  first: First,
  work: Work<T>,
  options: TransactionOptions,
): Promise<Fenced<T>> {
  const { connection, giveBack } = await take(database)
  if (busy.has(connection) || (connection.getTransactionStatus?.() ?? IDLE) !== IDLE) {
    giveBack(false)
    throw new Error('the connection is in a transaction already: end it first, or use guard() inside it')
  }
  busy.add(connection)
  // The server may end a transaction that lasts too long; the next query says so, and nobody else has to.
  connection.on('error', ignore)
  let usable = false
  try {
    const result = await catchStale(() => run(connection, first, work, options))
    usable = result.ok || (await rollBack(connection))
    return result
  } catch (error) {
    usable = await rollBack(connection)
    throw error
  } finally {
    connection.off('error', ignore)
    busy.delete(connection)
    giveBack(usable)
  }
}

async function run<T>(
  connection: Connection,
  first: First,
  work: Work<T>,
  { isolation = 'read committed' }: TransactionOptions,
): Promise<Fenced<T>> {
  await connection.query(BEGIN[isolation])
  const begun = await first(connection)
  if (!begun.ok) return begun
  const value = await workOn(connection, work)
  if ((connection.getTransactionStatus?.() ?? INSIDE) === IDLE) {
    throw new Error('the work ended its fenced transaction: what it wrote after that is not fenced')
  }
  const { command } = await connection.query('COMMIT')
  if (command !== 'COMMIT') {
    throw new Error('nothing was written: an error inside the transaction was caught, and not thrown on')
  }
  return { ok: true, value }
}

async function workOn<T>(connection: Connection, work: Work<T>): Promise<T> {
  const lent = lend(connection)
  try {
    return await work(lent.connection)
  } finally {
    lent.takeBack()
  }
}

function rollBack(connection: Connection): Promise<boolean> {
  return connection.query('ROLLBACK').then(
    () => true,
    () => false,
  )
}

function ignore(): void {}
