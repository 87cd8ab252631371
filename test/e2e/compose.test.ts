/** The Compose file: valid by Compose's own reading, and what it says does what it is for. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { buildBundle } from '../support/bundle.ts'
import { COMPOSE_FILE, graceMs, readServices, type Service, startOrder } from '../support/compose/file.ts'
import { noReader, readAsCompose } from '../support/compose/reader.ts'
import { Stack, saying } from '../support/compose/stack.ts'
import { startPostgres } from '../support/postgres.ts'
import { tempFolder } from '../support/temp.ts'
import { Watcher } from '../support/watcher.ts'

const READ_MOST_MS = 300_000
const PLAY_MOST_MS = 120_000
/** All of a shutdown, promise included; then a wake-up by the store. */
const HANDOVER_MS = 1_500 + 200
const SLACK_MS = 250

/** Of a service, what is played. */
function essence({ image, command, environment, network_mode, depends_on, stop_signal }: Service) {
  const needed = Object.entries(depends_on ?? {}).map(([name, { condition }]) => `${name} ${condition}`)
  const network = network_mode ?? null
  return { image, command, environment, network, needed: needed.toSorted(), signal: stop_signal ?? null }
}

describe('the Compose file', () => {
  test('is valid by the schema of Compose, and read here as Compose reads it', {
    skip: noReader(),
    timeout: READ_MOST_MS,
  }, async () => {
    const { services } = (await readAsCompose(COMPOSE_FILE)) as { services: Record<string, Service> }
    const own = readServices()
    assert.deepEqual(Object.keys(services).toSorted(), Object.keys(own).toSorted())
    for (const [name, service] of Object.entries(own)) {
      const compose = services[name]
      assert.ok(compose !== undefined)
      // Compose puts in what sharing a network means; the file says it as well.
      const { command = null, environment = null, ...rest } = essence(service)
      const { command: words = null, environment: variables = null, ...others } = essence(compose)
      assert.deepEqual(
        { ...others, words, variables },
        { ...rest, words: command, variables: environment },
        name,
      )
      assert.equal(graceMs(compose), graceMs(service), name)
    }
  })

  test('a setting that is none is found', { skip: noReader(), timeout: READ_MOST_MS }, async (t) => {
    const folder = tempFolder()
    t.after(() => folder.remove())
    const file = join(folder.path, 'compose.yaml')
    writeFileSync(file, readFileSync(COMPOSE_FILE, 'utf8').replace('stop_signal:', 'stop_signals:'))
    await assert.rejects(readAsCompose(file), /stop_signals/)
  })

  test('an application starts after its sidecar and is stopped before it', () => {
    const order = startOrder(readServices())
    for (const pair of ['1', '2', '3']) {
      assert.ok(order.indexOf(`app-${pair}`) > order.indexOf(`tenure-${pair}`), order.join())
    }
    assert.deepEqual(order.slice(0, 2), ['postgres', 'migrate'])
  })
})

test('played without containers, its processes elect, write, hand over, drain, and all end with 0', {
  timeout: PLAY_MOST_MS,
}, async (t) => {
  const [server, bundle] = await Promise.all([startPostgres(), buildBundle()])
  t.after(() => bundle.remove())
  t.after(() => server.dispose())
  await server.query('CREATE DATABASE app')
  const stack = new Stack({ bundle: bundle.path, postgresPort: server.port })
  t.after(() => stack.end())
  await stack.up()
  const watcher = new Watcher('report')
  for (const { name, process } of stack.played) if (name.startsWith('tenure-')) watcher.add(process)

  // Elected: the application beside the leader writes, and no other does.
  const first = await watcher.next(() => true)
  const pair = first.by.identity.replace('tenure-', '')
  const generation = first.answer.generation ?? 0
  await saying(stack.get(`app-${pair}`), `generation ${generation}`)

  // One pair is stopped, as for an upgrade: the application first.
  const next = watcher.above(generation)
  const stopped = await stack.stop([`tenure-${pair}`, `app-${pair}`])
  assert.deepEqual(
    stopped.map(({ name, code }) => [name, code]),
    [
      [`app-${pair}`, 0],
      [`tenure-${pair}`, 0],
    ],
  )
  const second = await next
  const [, sidecar] = stopped
  t.diagnostic(`the sidecar of the leader took ${sidecar?.tookMs.toFixed(0)} ms to end`)
  assert.ok((sidecar?.tookMs ?? Number.NaN) <= HANDOVER_MS + SLACK_MS)
  const other = second.by.identity.replace('tenure-', '')
  await saying(stack.get(`app-${other}`), `generation ${second.answer.generation}`)

  // The second steps down by hand, and goes on running.
  const third = watcher.above(second.answer.generation ?? 0)
  const told = await stack.exec(second.by.identity, ['/usr/local/bin/node', '/app/tenure.mjs', 'drain'])
  assert.match(told, /has ended \(resigned\)/)
  const last = await third
  assert.notEqual(last.by, second.by)
  await saying(stack.get(last.by.identity.replace('tenure', 'app')), `generation ${last.answer.generation}`)

  const all = await stack.stop(stack.played.map(({ name }) => name))
  for (const { name, code } of all) assert.equal(code, 0, name)
  await watcher.stop()
  const rows = await server.query<{ by: string; generation: string }>(
    'SELECT by, generation FROM report ORDER BY at',
    [],
    'app',
  )
  const writers = new Map(rows.map((row) => [row.generation, row.by]))
  for (const row of rows) assert.equal(row.by, writers.get(row.generation), 'two wrote under one generation')
  const written = rows.map((row) => Number(row.generation))
  assert.deepEqual(
    written,
    written.toSorted((a, b) => a - b),
    'an earlier generation wrote after a later one',
  )
  assert.ok(writers.size >= 3)
})
