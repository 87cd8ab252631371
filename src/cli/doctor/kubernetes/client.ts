/** Questions to the API server, each answered with its status, its body and the server's date. */
import { IncomingMessage } from 'node:http'
import type { Access } from '../../../stores/kubernetes/access.ts'
import type { Call, Reply, Transport } from '../../../stores/kubernetes/transport.ts'
import { VERSION } from '../../../version.ts'

const BODY_MOST_BYTES = 2 * 1024 * 1024

export interface Answer extends Reply {
  /** What came as JSON; null for anything else. */
  readonly body: unknown
  /** The server's wall clock in whole seconds, as milliseconds; null where it tells none. */
  readonly dateMs: number | null
}

export class Client {
  readonly #transport: Transport
  readonly #access: Access
  readonly #signal: AbortSignal

  constructor(transport: Transport, access: Access, signal: AbortSignal) {
    this.#transport = transport
    this.#access = access
    this.#signal = signal
  }

  get(path: string): Promise<Answer> {
    return this.#send('GET', path, null)
  }

  /** For reviews, which the server answers and does not keep. */
  review(group: string, kind: string, spec: unknown): Promise<Answer> {
    const path = `/apis/${group}/v1/${kind.toLowerCase()}s`
    return this.#send('POST', path, { apiVersion: `${group}/v1`, kind, spec })
  }

  /** A write that passes everything but is not kept. */
  tryWrite(method: 'POST' | 'PUT', path: string, body: unknown): Promise<Answer> {
    return this.#send(method, `${path}?dryRun=All`, body)
  }

  async #send(method: Call['method'], path: string, body: unknown): Promise<Answer> {
    const call = { method, path, body, userAgent: `tenure/${VERSION} (doctor)` }
    const {
      status,
      retryAfterMs,
      body: stream,
    } = await this.#transport.open(this.#access, call, this.#signal)
    const date = stream instanceof IncomingMessage ? Date.parse(stream.headers.date ?? '') : Number.NaN
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > BODY_MOST_BYTES) throw new Error(`the answer is longer than ${BODY_MOST_BYTES} bytes`)
      chunks.push(chunk)
    }
    const text = Buffer.concat(chunks).toString('utf8')
    return { status, retryAfterMs, text, body: parse(text), dateMs: Number.isNaN(date) ? null : date }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
