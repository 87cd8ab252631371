/** A sidecar whose every answer a test gives by hand, when it wants to. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { TenureClient } from '../../src/client/client.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { ManualClock } from '../support/clock.ts'
import { until } from '../support/sidecar.ts'
import { leadership } from '../support/stand-in.ts'

export const SESSION = '5844b9a7-6ee5-4c42-b59f-673be5e19028'
export const OTHER_SESSION = '0b0e6a3c-93f1-4f0f-8c3b-0d6c2d5c7a11'

/** An answer "leading"; `more` goes on top. */
export function leading(more: Readonly<Record<string, unknown>> = {}) {
  return leadership({
    leading: true,
    generation: 7,
    session: SESSION,
    validForMs: 1_000,
    state: 'leading',
    reason: 'elected',
    revision: 'r2',
    current: { holder: 'web-1', generation: 7, expiresInMs: 9_800, observedAgeMs: 400 },
    ...more,
  })
}

export function draining() {
  return leadership({ state: 'draining', reason: 'shutdown', revision: 'r3', validForMs: 0 })
}

type Kind = 'plain' | 'poll' | 'drained'

export class Asked {
  readonly url: URL
  readonly kind: Kind
  readonly header: string | undefined
  readonly body: string
  readonly #response: ServerResponse
  /** Whether the client has given the question up. */
  gone = false

  constructor(request: IncomingMessage, response: ServerResponse, body: string) {
    this.url = new URL(request.url ?? '', 'http://sidecar')
    this.header = request.headers['tenure-request']?.toString()
    this.body = body
    this.#response = response
    if (request.method === 'POST') this.kind = 'drained'
    else this.kind = this.url.searchParams.has('after') ? 'poll' : 'plain'
    response.on('close', () => {
      this.gone = !response.writableFinished
    })
  }

  reply(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers })
    this.#response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  /** The headers and a part of the body, and then nothing. */
  begin(part: string): void {
    this.#response.writeHead(200, { 'content-type': 'application/json' })
    this.#response.write(part)
  }

  hangUp(): void {
    this.#response.destroy()
  }
}

export class Respondent {
  /** Every question, in order. */
  readonly asked: Asked[] = []
  readonly #taken = new Set<Asked>()
  readonly #server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    this.asked.push(new Asked(request, response, Buffer.concat(chunks).toString()))
  })
  port = 0

  /** Listens: on the port of before, after a stop. */
  async start(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.port = (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    if (this.#server.listening) await once(this.#server, 'close')
  }

  /** The next question of this kind, once it has come. */
  async next(kind: Kind): Promise<Asked> {
    const asked = await until(`a question: ${kind}`, () => {
      return this.asked.find((one) => one.kind === kind && !this.#taken.has(one)) ?? null
    })
    this.#taken.add(asked)
    return asked
  }

  count(kind: Kind): number {
    return this.asked.filter((one) => one.kind === kind).length
  }
}

export interface Bench {
  readonly respondent: Respondent
  readonly clock: ManualClock
  readonly client: TenureClient
}

/** A client on a clock of the test, and a sidecar that the test plays. */
export async function bench(t: TestContext, options: ClientOptions = {}): Promise<Bench> {
  const respondent = new Respondent()
  await respondent.start()
  t.after(() => respondent.stop())
  const clock = new ManualClock()
  const client = new TenureClient({ url: `http://127.0.0.1:${respondent.port}`, clock, ...options })
  return { respondent, clock, client }
}
