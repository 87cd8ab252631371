import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Transport } from '../../src/stores/kubernetes/transport.ts'

const CALL = { method: 'GET', path: '/leases?x=1', body: null, userAgent: 'tenure/test' } as const
const NO_TLS = { ca: null, cert: null, key: null, serverName: null, verify: true }

/** A server that is none of Kubernetes, on one of the loopback addresses. */
async function served(t: TestContext, host: string, listener: RequestListener, path = '') {
  const server = createServer(listener).listen(0, host)
  await once(server, 'listening')
  const transport = new Transport()
  t.after(() => {
    transport.close()
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const authority = host.includes(':') ? `[${host}]` : host
  const access = {
    server: new URL(`http://${authority}:${address.port}${path}`),
    tls: NO_TLS,
    headers: { authorization: 'Bearer t' },
  }
  return { transport, access, server }
}

test('an API server at an IPv6 address is reached', async (t) => {
  const { transport, access } = await served(t, '::1', (_, response) => response.end('here'))
  const reply = await transport.send(access, CALL, AbortSignal.timeout(5_000))
  assert.deepEqual(reply, { status: 200, retryAfterMs: null, text: 'here' })
})

test('a path in front of the API server is kept, and credentials, agent and body are sent', async (t) => {
  const { transport, access } = await served(
    t,
    '127.0.0.1',
    (request, response) => {
      const { authorization, 'user-agent': agent, 'content-type': type } = request.headers
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () =>
        response.end([request.method, request.url, authorization, agent, type, body].join(' ')),
      )
    },
    '/k8s/clusters/one/',
  )
  const call = { ...CALL, method: 'PUT', body: { a: 'é' } } as const
  const { text } = await transport.send(access, call, AbortSignal.timeout(5_000))
  assert.equal(text, 'PUT /k8s/clusters/one/leases?x=1 Bearer t tenure/test application/json {"a":"é"}')
})

test('Retry-After is read where it is in seconds', async (t) => {
  const answers = ['7', 'Wed, 21 Oct 2026 07:28:00 GMT']
  const { transport, access } = await served(t, '127.0.0.1', (_, response) => {
    response.writeHead(429, { 'retry-after': answers.shift() ?? '' }).end()
  })
  const ask = async () => (await transport.send(access, CALL, AbortSignal.timeout(5_000))).retryAfterMs
  assert.deepEqual([await ask(), await ask()], [7_000, null])
})

test('an answer without end is given up', async (t) => {
  const { transport, access } = await served(t, '127.0.0.1', (_, response) => {
    const chunk = 'x'.repeat(64 * 1024)
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', more)
    more()
  })
  await assert.rejects(transport.send(access, CALL, AbortSignal.timeout(5_000)), /longer than \d+ bytes/)
})

test("when its time is over a request ends with the signal's reason, head or body", async (t) => {
  for (const listener of [
    () => undefined,
    (_: unknown, response: { write(text: string): unknown }) => response.write('{'),
  ]) {
    const { transport, access } = await served(t, '127.0.0.1', listener as RequestListener)
    const controller = new AbortController()
    const reason = new Error('given up')
    const request = transport.send(access, CALL, controller.signal)
    setTimeout(() => controller.abort(reason), 50)
    await assert.rejects(request, reason)
  }
})
