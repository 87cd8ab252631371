/** A connection that is lent to the work of one transaction. */
import type { Connection } from './connection.ts'

/** What ends or begins a transaction; a rollback to a savepoint does neither. */
const CONTROL =
  /^\s*(begin|start\s+transaction|commit|end|abort|rollback(?!(\s+(work|transaction))?\s+to\b)|prepare\s+transaction)\b/i

export interface Lent {
  readonly connection: Connection
  /** From here on nothing more is taken: it would be written outside of the transaction that was checked. */
  takeBack(): void
}

/**
 * The same connection, which refuses to query once it was taken back: a branch of the work that was not waited for
 * would write unfenced. It refuses the commands of transactions as well.
 */
export function lend(connection: Connection): Lent {
  let isLent = true
  const query = async (...args: Parameters<Connection['query']>) => {
    if (!isLent) throw new Error('the fenced transaction is over: wait for all of its work inside of it')
    if (CONTROL.test(textOf(args[0]))) {
      throw new Error('the fenced transaction is begun and ended around this work: leave that to it')
    }
    return connection.query(...args)
  }
  const lent = new Proxy(connection, {
    get: (target, name) => {
      if (name === 'query') return query
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const takeBack = () => {
    isLent = false
  }
  return { connection: lent, takeBack }
}

/** Drivers take a text, or an object that has one. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query
  return typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : ''
}
