/** Something that answers like a sidecar, as a test tells it to. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly method: string
  readonly url: URL
  readonly header: string | undefined
  readonly body: string
}

export type Answer = { readonly status?: number; readonly body: unknown } | 'never' | 'hang up'

export class StandIn {
  readonly asked: Asked[] = []
  readonly #server = createServer(async (request, response) => {
    const asked = await read(request)
    this.asked.push(asked)
    const answer = this.answer(asked)
    if (answer === 'never') return
    if (answer === 'hang up') return void response.destroy()
    const { status = 200, body } = answer
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  answer: (asked: Asked) => Answer

  constructor(answer: (asked: Asked) => Answer) {
    this.answer = answer
  }

  /** Listens on a free port and returns `HOST:PORT`. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return {
    method: request.method ?? '',
    url: new URL(request.url ?? '', 'http://stand-in'),
    header: request.headers['tenure-request']?.toString(),
    body: Buffer.concat(chunks).toString(),
  }
}

/** A leadership body of a follower; `more` goes on top. */
export function leadership(more: Readonly<Record<string, unknown>> = {}) {
  return {
    election: 'default',
    identity: 'web-1',
    leading: false,
    generation: null,
    session: null,
    validForMs: null,
    state: 'following',
    reason: 'started',
    since: new Date(0).toISOString(),
    revision: 'r1',
    current: { holder: 'web-2', generation: 7, expiresInMs: 9_800, observedAgeMs: 400 },
    draining: null,
    store: { kind: 'sqlite', location: '/x', lastSuccessAgoMs: 400, error: null },
    ...more,
  }
}

export function leads() {
  const current = { holder: 'web-1', generation: 8, expiresInMs: 9_800, observedAgeMs: 400 }
  return leadership({
    leading: true,
    generation: 8,
    session: 's',
    state: 'leading',
    reason: 'elected',
    current,
  })
}
