import pg from 'pg'
import { advise, type Check, fault, ok, paste, type Remedy, warning } from '../check.ts'
import { shellWord } from '../quote.ts'
import { askOne, type Look } from './look.ts'
import { urlOf } from './server.ts'

const NAME = 'pooler'
const PID = 'SELECT pg_catalog.pg_backend_pid() AS pid'

type Mode = 'statement' | 'transaction' | 'session'

/** Seen through a pooler, the process that greeted us is not the one that answers. */
export async function checkPooler(look: Look): Promise<readonly Check[]> {
  const { client } = look.session
  const { processID } = client as typeof client & { readonly processID: number }
  if (processID === look.facts.pid) return [ok(NAME, 'there is none: releases wake the followers')]
  const mode = await modeOf(look)
  const woken = warning(
    NAME,
    `the server is reached through a pooler ${mode === 'session' ? 'which keeps a connection for each client (session mode), or has several to lend' : `in ${mode} mode`}`,
    'a follower is woken by a release: through a pooler it is not, and asks every half ttl instead',
    await directRemedy(look),
  )
  return mode === 'statement' ? [woken, statementMode()] : [woken]
}

function statementMode(): Check {
  return fault(
    NAME,
    'misconfigured',
    'the pooler takes no transactions (statement mode)',
    'elections take none, but every fenced write is one',
    advise('set pool_mode = transaction for this database in pgbouncer.ini, and RELOAD'),
  )
}

/** Told by what is harmless: an empty transaction, and which server process two clients get one after the other. */
async function modeOf(look: Look): Promise<Mode> {
  const other = await look.another()
  try {
    await other.query('BEGIN', [], look.signal)
    await other.query('ROLLBACK', [], look.signal)
    const first = await askOne<{ pid: number }>(look, PID)
    const second = await askOne<{ pid: number }>({ session: other, signal: look.signal }, PID)
    return first.pid === second.pid ? 'transaction' : 'session'
  } catch (error) {
    if (error instanceof pg.DatabaseError && /statement pooling/.test(error.message)) return 'statement'
    throw error
  } finally {
    other.destroy()
  }
}

async function directRemedy(look: Look): Promise<Remedy> {
  const advice =
    'name the server itself for the leases (two connections a sidecar), or accept the poll: nothing else is lost'
  const { host, port } = await askOne<{ host: string | null; port: number | null }>(
    look,
    'SELECT pg_catalog.host(pg_catalog.inet_server_addr()) AS host, pg_catalog.inet_server_port() AS port',
  )
  const url = host === null || port === null ? null : urlOf(look, host, port)
  return url === null ? advise(advice) : paste('flags', `--store ${shellWord(url)}`, advice)
}
