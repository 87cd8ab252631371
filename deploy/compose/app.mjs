/** An application of which one replica writes a report each second: it asks its sidecar, then writes with a guard. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const { TENURE_URL = 'http://127.0.0.1:4040', NAME = 'app' } = process.env
const EVERY_MS = 1_000
const ASK_MOST_MS = 500
/** A sidecar that was started again has another loopback. Whoever starts this program again joins it to that one. */
const SILENT_MOST_MS = 10_000

const stopping = new AbortController()
process.once('SIGTERM', () => stopping.abort())

function say(what) {
  process.stdout.write(`${NAME} ${what}\n`)
}

/** The tenure under which this replica may act, and until when. Null: it may not. No answer means no. */
async function ask() {
  const sentAt = performance.now()
  const response = await fetch(`${TENURE_URL}/v1/leadership`, { signal: AbortSignal.timeout(ASK_MOST_MS) })
  const { leading, election, session, generation, validForMs } = await response.json()
  return leading ? { election, session, generation, until: sentAt + validForMs } : null
}

/** Writes the report. The guard holds off the next leader until this is committed, and lets no earlier one pass. */
async function report({ election, session, generation, until }) {
  const client = new pg.Client()
  // A server that goes away meanwhile is met by the next query.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN')
    await client.query('SELECT tenure.guard($1, $2, $3)', [election, session, generation])
    await client.query('CREATE TABLE IF NOT EXISTS report (at timestamptz, by text, generation bigint)')
    if (performance.now() >= until) return 'its answer ran out before it could write'
    await client.query('INSERT INTO report VALUES (now(), $1, $2)', [NAME, generation])
    await client.query('COMMIT')
    return `wrote the report under generation ${generation}`
  } finally {
    await client.end().catch(() => {})
  }
}

let heardAt = performance.now()
say('started')
while (!stopping.signal.aborted) {
  try {
    const tenure = await ask()
    heardAt = performance.now()
    if (tenure !== null) say(await report(tenure))
  } catch (error) {
    say(`could not: ${error.message}`)
  }
  if (performance.now() - heardAt > SILENT_MOST_MS) {
    say('has not heard of its sidecar for too long: ends, to be started again')
    process.exit(1)
  }
  await sleep(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {})
}
say('stopped')
