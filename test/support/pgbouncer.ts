/** PgBouncer before a PostgreSQL server, in transaction mode unless told: the pooler that breaks whatever keeps session state. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, type PostgresServer, unprivileged } from './postgres.ts'

const PATHS = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer']
const START_TIMEOUT_MS = 10_000
const PROBE_EVERY_MS = 20

/** Where pgbouncer is, null if it is not installed. */
export async function findPgbouncer(): Promise<string | null> {
  for (const path of PATHS) {
    try {
      await access(path)
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return null
}

export interface Pgbouncer {
  readonly port: number
  url(database: string, user?: string): string
  stop(): Promise<void>
}

/** Starts pgbouncer before `server`, with so few server connections that clients must share them. */
export async function startPgbouncer(
  path: string,
  server: PostgresServer,
  mode: 'session' | 'transaction' | 'statement' = 'transaction',
): Promise<Pgbouncer> {
  const home = await mkdtemp(join(tmpdir(), 'tenure-pgbouncer-'))
  const user = await unprivileged()
  const port = await freePort()
  const file = join(home, 'pgbouncer.ini')
  await writeFile(
    file,
    [
      '[databases]',
      `* = host=127.0.0.1 port=${server.port} user=postgres`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `pool_mode = ${mode}`,
      'default_pool_size = 3',
      '',
    ].join('\n'),
  )
  if (user !== null) await chown(home, user.uid, user.gid)
  const child = spawn(path, [file], { ...user, cwd: home, stdio: ['ignore', 'ignore', 'pipe'] })
  process.once('exit', () => child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString()
  })
  await untilListening(
    port,
    () => child.exitCode === null,
    () => log,
  )
  return {
    port,
    url: (database, name = 'postgres') => `postgres://${name}@127.0.0.1:${port}/${database}?sslmode=disable`,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGINT')
      child.kill('SIGKILL')
      await ended
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function untilListening(port: number, alive: () => boolean, log: () => string): Promise<void> {
  const until = performance.now() + START_TIMEOUT_MS
  while (alive() && performance.now() < until) {
    if (await accepts(port)) return
    await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS))
  }
  throw new Error(`pgbouncer did not start within ${START_TIMEOUT_MS} ms:\n${log()}`)
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
