import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../clock/clock.ts'
import { type Address, formatAddress } from '../config/address.ts'
import type { HttpLog } from './reply.ts'

/** An import would run every export of the module, and one of them loads an HTTP client: 60 ms and 5 MB. */
const { createServer } = process.getBuiltinModule('node:http')

/** Connections beyond these are refused, so that a leaking application cannot use up our file descriptors. */
const CONNECTIONS_MOST = 1_024
/** Requests of one connection that may wait for their answers at once. */
const UNANSWERED_MOST = 16
/** Longer than clients keep idle connections: they close them, and never write into one that is being closed. */
const KEEP_ALIVE_MS = 75_000
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 15_000
const PROBE_PEER_AFTER_MS = 15_000

/** An address that cannot be listened on. The message names it, and what to do. */
export class ListenError extends Error {
  constructor(message: string, options: { cause: unknown }) {
    super(message, options)
    this.name = 'ListenError'
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there: stop it, or choose another port',
  EACCES: 'this user may not listen there: choose a port above 1023',
  EADDRNOTAVAIL: 'this host has no such address: choose one that it has, or 0.0.0.0 for all',
  ENOTFOUND: 'the name cannot be resolved: give an address',
}

function listenError(flag: string, address: Address, cause: NodeJS.ErrnoException): ListenError {
  const remedy = REMEDIES[cause.code ?? ''] ?? cause.message
  return new ListenError(
    `${flag} ${formatAddress(address)}: cannot listen (${cause.code ?? 'error'}); ${remedy} with ${flag}`,
    {
      cause,
    },
  )
}

/**
 * Starts listening; `flag` names the setting in an error.
 * @throws ListenError when the address cannot be had.
 */
export async function listen(
  handle: RequestListener,
  address: Address,
  flag: string,
  log: HttpLog,
): Promise<Server> {
  const server = createServer(
    {
      keepAlive: true,
      keepAliveInitialDelay: PROBE_PEER_AFTER_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
    },
    bounded(handle),
  )
  server.maxConnections = CONNECTIONS_MOST
  server.on('clientError', refuseGarbage)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(flag, address, error)))
    server.listen(address.port, address.host, resolve)
  })
  // A connection that cannot be taken (no file descriptor left, say) must not end the process.
  server.on('error', (error) => log.error({ err: error }, `${flag}: a connection could not be taken`))
  return server
}

const STATUS_OF: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** What is no request is answered as everything else is: in JSON, and never to be stored. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const body = JSON.stringify({
    error: { code: 'bad_request', message: `this is no HTTP request: ${error.message}` },
  })
  const status = STATUS_OF[error.code ?? ''] ?? '400 Bad Request'
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/**
 * Drops a connection on which more requests wait for their answers than any client library sends: a burst of them
 * arrives in one piece, and would be answered in one turn of the loop, in which nothing is renewed.
 */
function bounded(handle: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>()
  return (request, response) => {
    const { socket } = request
    const line = lines.get(socket)
    if (line === undefined) {
      lines.set(socket, { last: response, waiting: 1 })
    } else {
      // Answers go out in order: once the last one has, none is waited for.
      line.waiting = line.last.writableFinished ? 1 : line.waiting + 1
      line.last = response
      if (line.waiting > UNANSWERED_MOST) {
        socket.destroy()
        return
      }
    }
    handle(request, response)
  }
}

/** The requests of one connection. */
interface Line {
  last: ServerResponse
  /** How many came since all were answered. */
  waiting: number
}

/** Where a server really listens. */
export function boundAddress(server: Server): Address {
  const { address, port } = server.address() as AddressInfo
  return { host: address, port }
}

/** Stops listening. Answers under way are waited for, but no longer than `boundMs`. */
export function closeWithin(server: Server, clock: Clock, boundMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(boundMs, () => server.closeAllConnections())
    server.close(() => {
      cancel()
      resolve()
    })
    server.closeIdleConnections()
  })
}
