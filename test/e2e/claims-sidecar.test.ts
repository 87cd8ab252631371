/** Claims of real agents at real sidecars. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TEST_TIMEOUT_MS = 60_000

function store(t: TestContext): string {
  const folder = tempFolder()
  t.after(() => folder.remove())
  return `sqlite:${join(folder.path, 'lease.db')}`
}

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any
}

async function ask(one: SidecarProcess, path: string, body?: unknown): Promise<Answer> {
  const answer = await one.ask(path, body === undefined ? {} : { method: 'POST', body, timeoutMs: 20_000 })
  assert.ok(answer !== null, `${one.identity} answers ${path}`)
  return { status: answer.status, json: JSON.parse(answer.body) }
}

test('agents share a workspace by claims: granted, refused, waited for, released', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const one = await sidecar(t, 'one', ['--store', store(t), '--claims'])
  const writer = await ask(one, '/v1/claims/acquire', { holder: 'writer-1', paths: ['/srv/src'] })
  assert.equal(writer.status, 200)
  const refused = await ask(one, '/v1/claims/acquire', { holder: 'reviewer-1', paths: ['/srv/src/app.ts'] })
  assert.deepEqual([refused.status, refused.json.conflicts[0].holder], [409, 'writer-1'])
  const waiting = ask(one, '/v1/claims/acquire', {
    holder: 'reviewer-1',
    paths: ['/srv/src/app.ts'],
    wait: '15s',
  })
  await until('the reviewer waits', async () =>
    (await ask(one, '/v1/claims')).json.waits.length === 1 ? true : null,
  )
  await ask(one, '/v1/claims/release', { token: writer.json.token })
  const reviewer = await waiting
  assert.equal(reviewer.status, 200)
  const query = `path=${encodeURIComponent('/srv/src/app.ts')}&token=${reviewer.json.token}`
  assert.equal((await ask(one, `/v1/claims/covering?${query}`)).json.verdict, 'own')
})

test('a claim ends by itself on the real clock, and who waits for it is granted then', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const one = await sidecar(t, 'one', ['--store', store(t), '--claims'])
  await ask(one, '/v1/claims/acquire', { holder: 'writer-1', paths: ['/srv'], ttl: '700ms' })
  const sentMs = performance.now()
  const reader = await ask(one, '/v1/claims/acquire', { holder: 'reader-1', paths: ['/srv/a'], wait: '15s' })
  const waitedMs = performance.now() - sentMs
  assert.equal(reader.status, 200)
  assert.ok(waitedMs > 500 && waitedMs < 5_000, `${waitedMs} ms`)
})

test('an agent that hangs up while it waits leaves the queue', { timeout: TEST_TIMEOUT_MS }, async (t) => {
  const one = await sidecar(t, 'one', ['--store', store(t), '--claims'])
  await ask(one, '/v1/claims/acquire', { holder: 'writer-1', paths: ['/srv'] })
  const gone = one.ask('/v1/claims/acquire', {
    method: 'POST',
    body: { holder: 'gone', paths: ['/srv/a'], wait: '30s' },
    timeoutMs: 300,
  })
  await until('it waits', async () => ((await ask(one, '/v1/claims')).json.waits.length === 1 ? true : null))
  assert.equal(await gone, null)
  await until('it does not', async () =>
    (await ask(one, '/v1/claims')).json.waits.length === 0 ? true : null,
  )
})

test('a restart loses the book, and the epoch tells it', { timeout: TEST_TIMEOUT_MS }, async (t) => {
  const flags = ['--store', store(t), '--claims']
  const before = await sidecar(t, 'one', flags)
  const granted = await ask(before, '/v1/claims/acquire', { holder: 'writer-1', paths: ['/srv'] })
  await before.end()
  const after = await sidecar(t, 'one', flags)
  const status = await ask(after, '/v1/claims')
  assert.notEqual(status.json.epoch, granted.json.epoch)
  const { token } = granted.json
  assert.equal((await ask(after, '/v1/claims/release', { token })).status, 409)
})

test('claims kept while leading are with the leader alone, and end with its tenure, also over a freeze', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const flags = ['--store', store(t), '--ttl', '2s', '--claims', '--claims-while-leading']
  const one = await sidecar(t, 'one', flags)
  const { generation } = await one.leads()
  const two = await sidecar(t, 'two', flags)
  await until('two follows', async () => ((await two.leadership())?.state === 'following' ? true : null))
  const granted = await ask(one, '/v1/claims/acquire', { holder: 'writer-1', paths: ['/srv'] })
  assert.equal(granted.status, 200)
  const refused = await ask(two, '/v1/claims/acquire', { holder: 'writer-2', paths: ['/srv'] })
  assert.deepEqual([refused.status, refused.json.error.code], [503, 'no_book'])
  assert.match(refused.json.error.message, /does not \(following/)
  await one.freeze()
  const next = await two.leads()
  assert.ok((next.generation ?? 0) > (generation ?? 0))
  const other = await ask(two, '/v1/claims/acquire', { holder: 'writer-2', paths: ['/srv'] })
  assert.equal(other.status, 200)
  one.thaw()
  const late = await ask(one, `/v1/claims/covering?path=/srv&token=${granted.json.token}`)
  assert.equal(late.status, 503, 'the first answer after the freeze already knows')
})

test('a sidecar without --claims keeps none', { timeout: TEST_TIMEOUT_MS }, async (t) => {
  const one = await sidecar(t, 'one', ['--store', store(t)])
  const { status, json } = await ask(one, '/v1/claims')
  assert.deepEqual([status, json.error.code], [404, 'claims_off'])
})
