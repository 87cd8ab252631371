/** Opens connections: several hosts, TLS or not, and only to a server that can be written. */
import pg from 'pg'
import type { Clock } from '../../clock/clock.ts'
import { type Deadline, untilAborted } from '../deadline.ts'
import { StoreError } from '../store.ts'
import { translate } from './errors.ts'
import { describeHost, type Host, type Location } from './location.ts'
import type { PasswordFor } from './password.ts'
import { type Facts, Session } from './session.ts'
import { encryptions, tlsOptions } from './tls.ts'

const KEEP_ALIVE_AFTER_MS = 10_000
const BOUND_MECHANISM = 'SCRAM-SHA-256-PLUS'

/** A session with what its server said about itself. */
interface Connected {
  readonly session: Session
  readonly facts: Facts
}

/** Knows where to connect, and which host served last. */
export class Connector {
  readonly #location: Location
  readonly #passwordFor: PasswordFor
  readonly #clock: Clock
  #last: Host | null = null

  constructor(location: Location, passwordFor: PasswordFor, clock: Clock) {
    this.#location = location
    this.#passwordFor = passwordFor
    this.#clock = clock
  }

  /**
   * Connects to the first host that can be written, the one that served last before the others. The time is
   * divided among the hosts still to be tried, so that one that hangs does not use up all of it.
   * `accept` throws where a server will not do.
   *
   * @throws StoreError which names every host that failed.
   */
  async connect(deadline: Deadline, accept: (facts: Facts) => void = checkWritable): Promise<Connected> {
    const failures: { host: Host; error: StoreError }[] = []
    const hosts = this.#inOrder()
    for (const [i, host] of hosts.entries()) {
      const shareMs = deadline.remainingMs / (hosts.length - i)
      const part = deadline.part(Math.min(shareMs, this.#location.connectTimeoutMs ?? shareMs))
      const isLast = i === hosts.length - 1 && this.#location.connectTimeoutMs === null
      try {
        const connected = await this.#connectHost(host, accept, isLast ? deadline.signal : part.signal)
        this.#last = host
        return connected
      } catch (error) {
        if (deadline.signal.aborted) throw translate(deadline.signal.reason)
        failures.push({ host, error: translate(error) })
      } finally {
        part.close()
      }
    }
    throw summary(failures)
  }

  #inOrder(): readonly Host[] {
    const { hosts } = this.#location
    const last = this.#last
    return last === null ? hosts : [last, ...hosts.filter((host) => host !== last)]
  }

  async #connectHost(host: Host, accept: (facts: Facts) => void, signal: AbortSignal): Promise<Connected> {
    const ways = encryptions(this.#location.tls, host.host.startsWith('/'))
    for (const [i, way] of ways.entries()) {
      try {
        return await this.#connectOnce(host, way, accept, signal)
      } catch (error) {
        if (signal.aborted || i === ways.length - 1 || !mayWorkOtherwise(error)) throw error
      }
    }
    throw new Error('there is always a way to connect')
  }

  async #connectOnce(
    host: Host,
    way: 'tls' | 'plain',
    accept: (facts: Facts) => void,
    signal: AbortSignal,
  ): Promise<Connected> {
    const location = this.#location
    const tls = way === 'tls' ? await untilAborted(tlsOptions(location.tls), signal) : false
    const mustBind = location.channelBinding === 'require'
    let bound = false
    const client = new pg.Client({
      host: host.host,
      port: host.port,
      user: location.user,
      database: location.database,
      password: async () => {
        if (mustBind && !bound) throw notBound()
        return this.#passwordFor(host)
      },
      ssl: tls,
      application_name: location.applicationName,
      ...(location.options === null ? {} : { options: location.options }),
      enableChannelBinding: mustBind,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    })
    client.connection.on('authenticationSASL', (message: { mechanisms: readonly string[] }) => {
      bound = message.mechanisms.includes(BOUND_MECHANISM)
    })
    const session = new Session(client, host, this.#clock.now())
    try {
      await untilAborted(client.connect(), signal)
      if (mustBind && !bound) throw notBound()
      const facts = await session.facts(signal)
      accept(facts)
      return { session, facts }
    } catch (error) {
      session.destroy()
      throw error
    }
  }
}

function notBound(): StoreError {
  return new StoreError(
    'denied',
    'the server offers no channel binding, and channel_binding=require asks for it',
    {
      cause: null,
    },
  )
}

function checkWritable({ standby, readOnly, role }: Facts): void {
  if (standby) {
    throw new StoreError(
      'unavailable',
      'the server is a standby: a lease can only be written on the primary',
      {
        cause: null,
      },
    )
  }
  if (readOnly) {
    throw new StoreError(
      'denied',
      `transactions of this role are read-only: run ALTER ROLE ${role} SET default_transaction_read_only = off; or look at the setting of the database and of the server`,
      { cause: null },
    )
  }
}

/** Whether the other of TLS and plain may succeed: the server has no TLS, or its rules want the other one. */
function mayWorkOtherwise(error: unknown): boolean {
  if (error instanceof StoreError) return false
  if (error instanceof pg.DatabaseError) return error.code === '28000'
  const { syscall } = error as NodeJS.ErrnoException
  return syscall !== 'connect' && syscall !== 'getaddrinfo'
}

/** One error for all hosts. Of their kinds the one that waiting will not mend counts. */
function summary(failures: readonly { host: Host; error: StoreError }[]): StoreError {
  const lasting = failures.find(({ error }) => error.kind !== 'unavailable') ?? failures.at(-1)
  if (lasting === undefined) throw new Error('there is always a host')
  const { kind } = lasting.error
  const message = failures.map(({ host, error }) => `${describeHost(host)}: ${error.message}`).join('; ')
  return new StoreError(kind, message, { cause: lasting.error.cause ?? lasting.error })
}
