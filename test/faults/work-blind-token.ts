/**
 * A planted bug, loaded before a runner: rows are found by their key, and their token is not looked at. The harness
 * that loads it has to see pages go out twice. It rewrites what is sent to the database; the code has no switch.
 */
import pg from 'pg'

const CHECK = 'pg_catalog.array_position($2::pg_catalog.uuid[], item.lease_token)'
const BLIND = 'pg_catalog.array_position($1, item."id")'

const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
Object.assign(pg.Client.prototype, {
  query(this: pg.Client, text: unknown, ...rest: unknown[]): unknown {
    return query.call(this, typeof text === 'string' ? blinded(text) : text, ...rest)
  },
})

function blinded(text: string): string {
  const changed = text.replaceAll(CHECK, BLIND)
  if (changed === text && text.includes('lease_token = NULL')) {
    throw new Error('the token check was not found: the statement has changed, and this bug with it')
  }
  return changed
}
