/** The listeners: one for the application, and, where asked for, one for probes and metrics. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { ClaimDesk } from '../claims/desk.ts'
import type { Clock } from '../clock/clock.ts'
import type { Address } from '../config/address.ts'
import type { Context } from './app.ts'
import type { Sidecar } from './elections.ts'
import { EVENT_READERS_MOST } from './events.ts'
import { Feed, Seats } from './feed.ts'
import { hotAnswers } from './hot.ts'
import { boundAddress, closeWithin, listen } from './listener.ts'
import { LONG_POLLS_MOST } from './long-poll.ts'
import { type MetricsSource, opsAnswers, unknownPath } from './ops.ts'
import { pathOf } from './query.ts'
import { type HttpLog, sendError } from './reply.ts'
import type { Route } from './route.ts'
import { type Path, ROUTES } from './routes.ts'

/** How long a stop waits for answers under way: a small part of the 1.5 s that a shutdown may take. */
export const STOP_MOST_MS = 250

export interface ServersOptions {
  readonly sidecar: Sidecar
  readonly registry: MetricsSource
  readonly clock: Clock
  readonly log: HttpLog
  /** For the application. */
  readonly listen: Address
  /** For probes and metrics, which are then served nowhere else; null: with the rest. */
  readonly opsListen: Address | null
  /** Of the sidecar, for the OpenAPI document. */
  readonly version: string
  /** Left out where no claims are kept. */
  readonly claims?: ClaimDesk | null
}

type SubscriberKind = 'long_poll' | 'events'

export interface Servers {
  /**
   * Listens.
   * @throws ListenError when an address cannot be had; nothing listens then.
   */
  start(): Promise<{ readonly api: Address; readonly ops: Address | null }>
  /**
   * Loads what only the rarer calls need. The first answer does not wait for it, and the first `drained`, which
   * comes when every millisecond counts, must not have to either: to be called before anybody leads.
   */
  warm(): Promise<void>
  /** Stops listening, ends every stream and long poll, and closes all connections within `STOP_MOST_MS`. */
  stop(): Promise<void>
  /** How many readers of an election stay on the line. */
  subscribers(election: string, kind: SubscriberKind): number
}

export function createServers(options: ServersOptions): Servers {
  return new HttpServers(options)
}

class HttpServers implements Servers {
  readonly #options: ServersOptions
  readonly #context: Context
  #servers: Server[] = []
  readonly #ending = new AbortController()
  #stopping: Promise<void> | null = null
  #app: Promise<RequestListener> | null = null

  constructor(options: ServersOptions) {
    this.#options = options
    const { sidecar, clock, log, version, opsListen, claims = null } = options
    const onFault = (error: unknown): void =>
      log.error({ err: error }, 'a reader could not be told of a transition')
    this.#context = {
      elections: sidecar.elections,
      feeds: new Map(sidecar.elections.map((one) => [one.name, new Feed(one, onFault)])),
      longPolls: new Seats(LONG_POLLS_MOST, 'long polls'),
      eventReaders: new Seats(EVENT_READERS_MOST, 'event streams'),
      clock,
      log,
      version,
      claims,
      ending: this.#ending.signal,
      served: pathsServed(
        (route) => (opsListen === null || route.ops !== true) && (claims !== null || route.claims !== true),
      ),
    }
  }

  async start(): Promise<{ api: Address; ops: Address | null }> {
    const { listen: apiAddress, opsListen, log } = this.#options
    const api = await listen(this.#handleApi(), apiAddress, '--listen', log)
    this.#servers.push(api)
    if (opsListen === null) return { api: boundAddress(api), ops: null }
    try {
      const ops = await listen(this.#handleOps(), opsListen, '--ops-listen', log)
      this.#servers.push(ops)
      return { api: boundAddress(api), ops: boundAddress(ops) }
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  subscribers(election: string, kind: SubscriberKind): number {
    const { longPolls, eventReaders } = this.#context
    return (kind === 'events' ? eventReaders : longPolls).taken(election)
  }

  async warm(): Promise<void> {
    await this.#loadApp()
  }

  #loadApp(): Promise<RequestListener> {
    this.#app ??= import('./app.ts').then(({ createApp }) => createApp(this.#context))
    return this.#app
  }

  async #stop(): Promise<void> {
    const closed = this.#servers.map((server) => closeWithin(server, this.#options.clock, STOP_MOST_MS))
    for (const feed of this.#context.feeds.values()) feed.close()
    this.#ending.abort()
    await Promise.all(closed)
  }

  #handleApi(): RequestListener {
    const { sidecar, registry, log, opsListen } = this.#options
    const hot = hotAnswers(sidecar.elections, log)
    const ops = opsListen === null ? opsAnswers(sidecar, registry, log) : () => false
    return (request, response) => {
      if (this.#stopping !== null) response.shouldKeepAlive = false
      if (hot(request, response) || ops(request, response)) return
      this.#handleRest(request, response)
    }
  }

  #handleOps(): RequestListener {
    const { sidecar, registry, log } = this.#options
    const ops = opsAnswers(sidecar, registry, log)
    const served = pathsServed((route) => route.ops === true)
    return (request, response) => {
      if (this.#stopping !== null) response.shouldKeepAlive = false
      if (!ops(request, response)) sendError(response, unknownPath(pathOf(request.url ?? ''), served), log)
    }
  }

  #handleRest(request: IncomingMessage, response: ServerResponse): void {
    this.#loadApp()
      .then((app) => app(request, response))
      .catch((error) => sendError(response, error, this.#options.log))
  }
}

function pathsServed(which: (route: Route) => boolean): readonly Path[] {
  return (Object.keys(ROUTES) as Path[]).filter((path) => which(ROUTES[path]))
}
