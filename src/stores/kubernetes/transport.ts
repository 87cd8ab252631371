/**
 * HTTP to the API server over kept-alive connections. Proxy variables are not looked at.
 *
 * An election has one request and one watch under way at a time, so connections need no further bound; one whose
 * request did not end well is destroyed.
 */
import http from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import type { Access, TlsSettings } from './access.ts'

/** etcd takes 1.5 MB at most; a Lease has some hundred bytes. */
const BODY_MOST_BYTES = 2 * 1024 * 1024
const FREE_SOCKETS_MOST = 4
const KEEP_ALIVE_PROBE_MS = 15_000

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** With its query. */
  readonly path: string
  /** What is sent as JSON; null for nothing. */
  readonly body: unknown
  readonly userAgent: string
}

export interface Reply {
  readonly status: number
  /** `Retry-After`, where the server gave it in seconds. */
  readonly retryAfterMs: number | null
  readonly text: string
}

/** The beginning of a reply whose body is read as it comes. Must be destroyed. */
export interface Stream {
  readonly status: number
  readonly retryAfterMs: number | null
  readonly body: Readable
}

export class Transport {
  #agent: http.Agent | null = null
  #agentFor = ''

  /** Sends a request and reads the whole answer. Rejects with the signal's reason when that aborts. */
  async send(access: Access, call: Call, signal: AbortSignal): Promise<Reply> {
    const { status, retryAfterMs, body } = await this.open(access, call, signal)
    try {
      return { status, retryAfterMs, text: await readAll(body) }
    } catch (error) {
      body.destroy()
      throw signal.aborted ? signal.reason : error
    }
  }

  /** Sends a request and answers as soon as the head of the reply is there. */
  open(access: Access, call: Call, signal: AbortSignal): Promise<Stream> {
    return new Promise((resolve, reject) => {
      const { server } = access
      const payload = call.body === null ? null : JSON.stringify(call.body)
      const request = (server.protocol === 'http:' ? http : https).request(
        {
          agent: this.#agentOf(access),
          host: server.hostname.replace(/^\[|\]$/g, ''),
          port: server.port || (server.protocol === 'http:' ? 80 : 443),
          method: call.method,
          path: server.pathname.replace(/\/$/, '') + call.path,
          headers: {
            ...access.headers,
            accept: 'application/json',
            'user-agent': call.userAgent,
            ...(payload !== null && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(payload),
            }),
          },
          signal,
        },
        (response) =>
          resolve({
            status: response.statusCode ?? 0,
            retryAfterMs: readRetryAfter(response.headers['retry-after']),
            body: response,
          }),
      )
      request.on('error', (error) => reject(signal.aborted ? signal.reason : error))
      request.end(payload ?? undefined)
    })
  }

  /** Destroys the connections that wait for use: they are likely to have met the fate of the one that failed. */
  dropFree(): void {
    for (const sockets of Object.values(this.#agent?.freeSockets ?? {})) {
      for (const socket of sockets ?? []) socket.destroy()
    }
  }

  /** Destroys every connection. */
  close(): void {
    this.#agent?.destroy()
  }

  /** Another agent when the certificates were replaced; what is under way on the old one may end. */
  #agentOf({ server, tls }: Access): http.Agent {
    const wanted = JSON.stringify([server.protocol, tls])
    if (this.#agent !== null && this.#agentFor === wanted) return this.#agent
    this.dropFree()
    const options = {
      keepAlive: true,
      keepAliveMsecs: KEEP_ALIVE_PROBE_MS,
      maxFreeSockets: FREE_SOCKETS_MOST,
    }
    this.#agent =
      server.protocol === 'http:'
        ? new http.Agent(options)
        : new https.Agent({ ...options, ...tlsOptions(tls) })
    this.#agentFor = wanted
    return this.#agent
  }
}

function tlsOptions(tls: TlsSettings): https.AgentOptions {
  return {
    rejectUnauthorized: tls.verify,
    ...(tls.ca !== null && { ca: tls.ca }),
    ...(tls.cert !== null && { cert: tls.cert }),
    ...(tls.key !== null && { key: tls.key }),
    ...(tls.serverName !== null && { servername: tls.serverName }),
  }
}

async function readAll(body: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_MOST_BYTES) throw new Error(`the answer is longer than ${BODY_MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function readRetryAfter(header: string | undefined): number | null {
  return header !== undefined && /^\d+$/.test(header) ? Number(header) * 1_000 : null
}
