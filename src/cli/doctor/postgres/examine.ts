/** A PostgreSQL store, looked at through connections of its own. Whatever is tried is rolled back. */
import { Deadline } from '../../../stores/deadline.ts'
import { Connector } from '../../../stores/postgres/connect.ts'
import { translate } from '../../../stores/postgres/errors.ts'
import { type Location, parseLocation } from '../../../stores/postgres/location.ts'
import { type PasswordFor, passwordSource } from '../../../stores/postgres/password.ts'
import type { Check, Findings } from '../check.ts'
import { faultOf, skipped } from '../check.ts'
import { STORE_WITHIN_MS, type Subject } from '../subject.ts'
import { checkConnections } from './connections.ts'
import { checkDurability, checkReplicas } from './durability.ts'
import { checkHistory } from './history.ts'
import { readLeases } from './leases.ts'
import type { Look } from './look.ts'
import { checkPooler } from './pooler.ts'
import { acceptAny, reach } from './reach.ts'
import { checkRights } from './rights.ts'
import { checkSchema } from './schema.ts'
import { checkServer, checkServerClock } from './server.ts'
import { checkLineage, checkTable } from './table.ts'
import { checkTimeouts } from './timeouts.ts'
import { checkWritable } from './writable.ts'

type Examine = (look: Look) => Promise<readonly Check[]>

/** What can be asked of any server; then what only makes sense where leases can be written. */
const OF_SERVER: readonly (readonly [string, Examine])[] = [
  ['server', checkServer],
  ['pooler', checkPooler],
  ['clock', checkServerClock],
  ['timeouts', checkTimeouts],
  ['connections', checkConnections],
  ['durability', checkDurability],
  ['replicas', checkReplicas],
  ['lineage', checkLineage],
  ['schema', checkSchema],
]
const OF_LEASES: readonly (readonly [string, Examine])[] = [
  ['rights', checkRights],
  ['history', checkHistory],
  ['table', checkTable],
]

export async function examinePostgres(subject: Subject): Promise<Findings> {
  const { store: settings } = subject.config.values
  let location: Location
  let passwordFor: PasswordFor
  try {
    location = parseLocation(settings.url, subject.environment)
    passwordFor = passwordSource(location, settings, subject.environment)
  } catch (error) {
    return { checks: [faultOf('store', error)], leases: [] }
  }
  const attempt = { timeoutMs: STORE_WITHIN_MS, signal: new AbortController().signal }
  const deadline = new Deadline(subject.clock, attempt, 'PostgreSQL')
  try {
    const { connected, checks } = await reach(location, passwordFor, subject, deadline)
    if (connected === null) return { checks, leases: [] }
    const { host } = connected.session
    const connector = new Connector({ ...location, hosts: [host] }, passwordFor, subject.clock)
    const another = async () => (await connector.connect(deadline, acceptAny)).session
    const look = { ...connected, location, settings, subject, signal: deadline.signal, another }
    try {
      const { checks: found, leases } = await examineServer(look)
      return { checks: [...checks, ...found], leases }
    } finally {
      connected.session.destroy()
    }
  } finally {
    deadline.close()
  }
}

async function examineServer(look: Look): Promise<Findings> {
  const server = await all(OF_SERVER, look)
  if (server.some(({ name, status }) => name === 'schema' && status === 'fault')) {
    const why = 'not looked at before the schema is there'
    return { checks: [...server, skipped('rights', why), skipped('writable', why)], leases: [] }
  }
  const table = await all(OF_LEASES, look)
  const written = table.some(({ status }) => status === 'fault')
    ? [skipped('writable', 'not tried before the rights and the table are right')]
    : await guarded('writable', checkWritable, look)
  const checks = [...server, ...table, ...written]
  try {
    return { checks, leases: await readLeases(look) }
  } catch (error) {
    return {
      checks: [...checks, skipped('twin', `the leases could not be read: ${translate(error).message}`)],
      leases: [],
    }
  }
}

async function all(examines: readonly (readonly [string, Examine])[], look: Look): Promise<readonly Check[]> {
  const checks: Check[] = []
  for (const [name, examine] of examines) checks.push(...(await guarded(name, examine, look)))
  return checks
}

/** What one question stumbles over does not keep the others from being put. */
async function guarded(name: string, examine: Examine, look: Look): Promise<readonly Check[]> {
  try {
    return await examine(look)
  } catch (error) {
    const { kind, message } = translate(error)
    const isGone = look.session.broken || look.signal.aborted
    return [
      isGone ? faultOf(name, translate(error)) : skipped(name, `it could not be asked (${kind}): ${message}`),
    ]
  }
}
