import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openApiDocument } from '../../src/http/openapi.ts'
import type { Route } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes.ts'
import { SCHEMAS } from '../../src/http/schemas.ts'
import { FOLLOWING, LEADING, startRig } from './http-fixtures.ts'

const FILE = new URL('../../docs/openapi.json', import.meta.url)
const PACKAGE = new URL('../../package.json', import.meta.url)
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']

test('the document served is the one that is built', async (t) => {
  const { ask } = await startRig(t)
  const { status, json } = await ask('/openapi.json')
  assert.equal(status, 200)
  assert.deepEqual(json, JSON.parse(JSON.stringify(openApiDocument('0.0.0'))))
})

test('docs/openapi.json is what the code generates', () => {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8'))
  assert.ok(existsSync(FILE), 'docs/openapi.json is missing: run npm run gen')
  const written = JSON.parse(readFileSync(FILE, 'utf8'))
  assert.deepEqual(written, JSON.parse(JSON.stringify(openApiDocument(version))), 'run npm run gen')
})

test('the document lists exactly the methods that each path takes', async (t) => {
  const { ask } = await startRig(t, { claims: () => ({ valid: true, tenure: '' }) })
  const { paths } = openApiDocument('0.0.0')
  assert.deepEqual(Object.keys(paths).toSorted(), Object.keys(ROUTES).toSorted())
  for (const [path, item] of Object.entries(paths)) {
    const listed = Object.keys(item).map((method) => method.toUpperCase())
    for (const method of METHODS) {
      if (path === '/v1/events' && method === 'GET') continue // a stream: it would not end
      const { status } = await ask(path, { method })
      assert.equal(status !== 405, listed.includes(method), `${method} ${path} gave ${status}`)
      assert.notEqual(status, 404, path)
    }
  }
})

test('every reference in the document leads somewhere, and every schema is used', () => {
  const document = openApiDocument('0.0.0')
  const text = JSON.stringify(document)
  const used = new Set(Array.from(text.matchAll(/#\/components\/schemas\/(\w+)/g), ([, name]) => name))
  assert.deepEqual([...used].toSorted(), Object.keys(document.components.schemas).toSorted())
  const ids = Array.from(text.matchAll(/"operationId":"([^"]+)"/g), ([, id]) => id)
  assert.equal(new Set(ids).size, ids.length, 'operation ids are unique')
})

test('every answer fits the schema that the document gives for it', async (t) => {
  const { ask, election, sidecar } = await startRig(t)
  const headers = { 'Tenure-Request': '1', 'Content-Type': 'application/json' }
  const post = (body: string) => ({ method: 'POST', headers, body })
  const fromMs = Date.UTC(2026, 0, 1)
  election.records = [
    { holder: 'pod-b', generation: 6, fromMs, untilMs: fromMs + 1.25, reason: 'expired', leaderlessMs: 1.5 },
    { holder: null, generation: 7, fromMs: fromMs + 2, untilMs: null, reason: 'unknown', leaderlessMs: null },
  ]
  const check = async (expected: number, path: string, question = {}): Promise<void> => {
    const { status, json } = await ask(path, question)
    assert.equal(status, expected, path)
    const bare = path.replace(/\?.*/, '') as keyof typeof ROUTES
    const answers: Route['answers'] = ROUTES[bare].answers
    const name = answers[status]?.schema
    assert.ok(name !== undefined && name in SCHEMAS, `${path} ${status} is in the document`)
    SCHEMAS[name as keyof typeof SCHEMAS].parse(json)
  }
  for (const now of [FOLLOWING, { ...LEADING, actForMs: 17.3 }]) {
    election.now = now
    await check(200, '/v1/leadership')
    await check(200, '/v1/leadership?after=x')
    await check(now.leading ? 200 : 503, '/leader')
    await check(now.leading ? 200 : 409, '/v1/drained', post('{"generation":7}'))
    await check(200, '/')
  }
  await check(200, '/v1/history')
  await check(200, '/v1/resign', post('{"holdOff":"1s"}'))
  await check(400, '/v1/resign', post('{'))
  await check(403, '/v1/resign', { method: 'POST' })
  await check(413, '/v1/resign', post(`"${'x'.repeat(5_000)}"`))
  await check(415, '/v1/drained', { method: 'POST', headers: { 'Tenure-Request': '1' }, body: '{}' })
  await check(404, '/v1/history?election=nobody')
  await check(400, '/v1/events?x=1')
  await check(200, '/livez')
  await check(200, '/readyz')
  sidecar.liveness = { ok: false, message: 'late' }
  await check(503, '/livez')
  election.fault = new Error('gone')
  await check(500, '/v1/leadership')
})

test('every event of a stream fits its schema', async (t) => {
  const { open, election } = await startRig(t)
  const stream = open('/v1/events')
  await stream.until((text) => text.includes('id: aaaa-0'))
  election.become(LEADING)
  const text = await stream.until((so) => /id: aaaa-1[\s\S]*\n\n/.test(so))
  const events = text.match(/^data: .*$/gm) ?? []
  assert.equal(events.length, 2)
  for (const event of events) SCHEMAS.LeadershipEvent.parse(JSON.parse(event.slice('data: '.length)))
})
