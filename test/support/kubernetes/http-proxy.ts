/**
 * A proxy that understands HTTP, for what a real API server cannot be made to do on demand. It speaks with the
 * server's own certificate, passes requests on, counts them, and fails those that a test names.
 */
import { once } from 'node:events'
import type http from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { ApiServer } from './api-server.ts'

/**
 * - `drop-reply`: the request arrives and takes effect, its reply does not.
 * - `hang-before`: the request does not arrive, and nothing is answered.
 * - `hang-after`: the request takes effect, and nothing is answered.
 * - `too-many`: 429, with Retry-After.
 * - `slow-body`: the head of the reply comes, its body stops half way.
 * - `garbage`: a success that is no JSON.
 */
export type HttpFault =
  | 'drop-reply'
  | 'hang-before'
  | 'hang-after'
  | { readonly tooMany: { readonly retryAfterSeconds: number } }
  | 'slow-body'
  | 'garbage'

export interface SeenRequest {
  readonly method: string
  /** A watch is told from a question by this. */
  readonly watch: boolean
  readonly path: string
  readonly userAgent: string
  readonly authorization: string
  readonly at: number
  /** Of the reply; null where none came yet. */
  status: number | null
}

type Fault = (request: SeenRequest) => HttpFault | null

export class HttpProxy {
  readonly requests: SeenRequest[] = []
  readonly #server: https.Server
  readonly #agent: https.Agent
  readonly #targetPort: number
  readonly #sockets = new Set<Duplex>()
  #fault: Fault = () => null
  #beforeReply: (request: SeenRequest) => Promise<void> = async () => undefined

  /** Connections accepted so far. */
  connections = 0

  private constructor(targetPort: number, ca: string, key: string) {
    this.#targetPort = targetPort
    this.#agent = new https.Agent({ keepAlive: true, ca })
    this.#server = https.createServer({ cert: ca, key }, (request, response) => this.#take(request, response))
    this.#server.on('connection', (socket) => {
      this.connections++
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(server: ApiServer): Promise<HttpProxy> {
    const proxy = new HttpProxy(server.port, await server.ca(), await server.key())
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
    return address.port
  }

  /** Says which requests fail, and how; until the next call. */
  fail(fault: Fault): void {
    this.#fault = fault
  }

  /** Runs `act` after the server has answered and before the client hears of it; until the next call. */
  beforeReply(act: (request: SeenRequest) => Promise<void>): void {
    this.#beforeReply = act
  }

  /** Everything passes again. */
  mend(): void {
    this.#fault = () => null
    this.#beforeReply = async () => undefined
  }

  /** Forgets what was seen. */
  reset(): void {
    this.requests.length = 0
  }

  /** How many were seen of a method; watches are counted apart, as `WATCH`. */
  count(method: string): number {
    return this.requests.filter((one) => (one.watch ? 'WATCH' : one.method) === method).length
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#agent.destroy()
    await closed
  }

  #take(request: http.IncomingMessage, response: http.ServerResponse): void {
    const url = new URL(request.url ?? '/', 'https://proxy')
    const seen: SeenRequest = {
      method: request.method ?? '',
      watch: url.searchParams.has('watch'),
      path: url.pathname,
      userAgent: request.headers['user-agent'] ?? '',
      authorization: request.headers.authorization ?? '',
      at: performance.now(),
      status: null,
    }
    this.requests.push(seen)
    const fault = this.#fault(seen)
    if (fault === 'hang-before') {
      request.resume()
      return
    }
    if (fault !== null && typeof fault === 'object') {
      request.resume()
      seen.status = 429
      response.writeHead(429, { 'retry-after': String(fault.tooMany.retryAfterSeconds) })
      response.end('too many requests')
      return
    }
    this.#forward(request, response, seen, fault)
  }

  #forward(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    seen: SeenRequest,
    fault: HttpFault | null,
  ): void {
    const { host: _, ...headers } = request.headers
    const upstream = https.request(
      {
        host: '127.0.0.1',
        port: this.#targetPort,
        method: request.method,
        path: request.url,
        headers,
        agent: this.#agent,
      },
      (reply) => {
        seen.status = reply.statusCode ?? 0
        this.#beforeReply(seen).then(
          () => this.#answer(reply, response, fault),
          (error: Error) => response.destroy(error),
        )
      },
    )
    upstream.once('error', () => response.destroy())
    response.once('close', () => upstream.destroy())
    request.pipe(upstream)
  }

  #answer(reply: http.IncomingMessage, response: http.ServerResponse, fault: HttpFault | null): void {
    switch (fault) {
      case 'hang-after':
        reply.resume()
        return
      case 'drop-reply':
        response.destroy()
        return
      case 'garbage':
        reply.resume()
        response.writeHead(reply.statusCode ?? 0, { 'content-type': 'text/html' })
        response.end('<html>')
        return
      case 'slow-body':
        reply.resume()
        response.writeHead(reply.statusCode ?? 0, { 'content-type': 'application/json' })
        response.write('{"kind":')
        return
      default:
        response.writeHead(reply.statusCode ?? 0, reply.headers)
        response.flushHeaders()
        reply.pipe(response)
    }
  }
}
