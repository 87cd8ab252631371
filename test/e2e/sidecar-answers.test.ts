/** Everything that real sidecars answer, in every state, against the schemas that the API document is made of. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { SCHEMAS } from '../../src/http/schemas.ts'
import { withFleet } from '../support/fleet.ts'
import { PostgresBench } from '../support/postgres-bench.ts'
import { type SidecarProcess, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TEST_TIMEOUT_MS = 30_000
/** The generations that follow are the largest that a JSON number can carry, and a bigint column a text. */
const FLOOR = 2 ** 53 - 1_000

const folder = tempFolder()
after(() => folder.remove())
const bench = await PostgresBench.start()

const STORES = {
  SQLite: ['--store', `sqlite:${join(folder.path, 'tenure.db')}`, '--ttl', '3s'],
  PostgreSQL: ['--store', bench.url, '--ttl', '3s'],
} as const

type Schema = (typeof SCHEMAS)[keyof typeof SCHEMAS]

const READS: Readonly<Record<string, Schema>> = {
  '/v1/leadership': SCHEMAS.Leadership,
  '/v1/leadership?after=none&wait=0ms': SCHEMAS.Leadership,
  '/leader': SCHEMAS.Leadership,
  '/v1/history': SCHEMAS.History,
  '/': SCHEMAS.HolderName,
  '/livez': SCHEMAS.Live,
  '/readyz': SCHEMAS.Ready,
}

/** The first event of the stream. */
function firstEvent(sidecar: SidecarProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: sidecar.port, path: '/v1/events', agent: false })
    sent.on('error', reject)
    sent.on('response', (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk
        const data = /^data: (.*)$/m.exec(text)?.[1]
        if (data === undefined || !text.includes('\n\n')) return
        resolve(data)
        sent.destroy()
      })
    })
    sent.end()
  })
}

/** Every value in a body, with its path. */
function* valuesIn(value: unknown, path = ''): Generator<readonly [string, unknown]> {
  yield [path, value]
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) yield* valuesIn(inner, `${path}.${key}`)
}

/** A body is as the schema says, its numbers are safe, and only a leader is given a generation and a session. */
function assertSound(text: string, schema: Schema, what: string): void {
  const body: unknown = JSON.parse(text)
  const { error } = schema.safeParse(body)
  assert.equal(error, undefined, `${what}: ${text}: ${error?.message}`)
  for (const [path, value] of valuesIn(body)) {
    if (typeof value === 'number') assert.ok(value < 2 ** 53 && value >= 0, `${what}${path} is ${value}`)
  }
  if (schema !== SCHEMAS.Leadership && schema !== SCHEMAS.LeadershipEvent) return
  const { leading, generation, session } = body as Record<string, unknown>
  assert.equal(generation !== null, leading, `${what}: ${text}`)
  assert.equal(session !== null, leading, `${what}: ${text}`)
  if (leading === true) assert.ok(Number(generation) > FLOOR, `${what}: ${text}`)
}

for (const [storeName, flags] of Object.entries(STORES)) {
  test(`${storeName}: every answer fits its schema, and nobody but the leader is given generation or session`, {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const args = [...flags, '--generation-floor', String(FLOOR), '--drain', '20s']
    await withFleet(t, { args, size: 2 }, async (fleet) => {
      const { by, answer } = await fleet.leader()
      const observer = await fleet.add('--observer')
      await until('the observer has seen the leader', async () =>
        (await observer.report())?.current?.holder === answer.identity ? true : null,
      )
      await assertAllSound(fleet.members)
      await by.post('/v1/resign', {})
      assert.equal((await by.report())?.state, 'draining')
      await assertAllSound(fleet.members)
      const next = fleet.watcher.above(answer.generation ?? 0)
      fleet.watcher.waive(answer.generation ?? 0, performance.now())
      const drained = await by.post('/v1/drained', { generation: answer.generation })
      assertSound(drained?.body ?? '', SCHEMAS.Drained, 'drained')
      await next
      await assertAllSound(fleet.members)
    })
  })
}

async function assertAllSound(members: readonly SidecarProcess[]): Promise<void> {
  for (const member of members) {
    for (const [path, schema] of Object.entries(READS)) {
      const answer = await member.ask(path)
      assert.ok(answer !== null, path)
      assertSound(answer.body, schema, `${member.identity} ${path}`)
    }
    assertSound(await firstEvent(member), SCHEMAS.LeadershipEvent, `${member.identity} /v1/events`)
    const document = await member.ask('/openapi.json')
    assert.equal(document?.status, 200)
  }
}
