import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock/system-clock.ts'
import { openStore } from '../../src/stores/open.ts'
import type { LeaseStore } from '../../src/stores/store.ts'
import { attempt, candidate } from '../conformance/harness.ts'
import { Child } from '../conformance/sqlite-process.ts'
import { until } from '../support/sidecar.ts'
import { type TempFolder, tempFolder } from '../support/temp.ts'

const SCRIPT = fileURLToPath(new URL('./fencing-sqlite-child.ts', import.meta.url))
const PROCESSES = 4
const WRITES_LEAST = 10
const TTL_MS = 1_000
/** The longest write, the wait for its lock, and a busy machine. */
const TAKEOVER_SLACK_MS = 1_500
/** The lease is kept a step of the boot clock longer, and judged by steps of it. */
const CLOCK_STEPS_MS = 30
const TEST_TIMEOUT_MS = 60_000

let folder: TempFolder
let leasePath: string
let dataPath: string
let data: DatabaseSync
let children: Child[]
beforeEach(() => {
  folder = tempFolder()
  leasePath = join(folder.path, 'tenure.db')
  dataPath = join(folder.path, 'data.db')
  data = new DatabaseSync(dataPath)
  data.exec(
    'PRAGMA journal_mode = WAL; CREATE TABLE entry (id INTEGER PRIMARY KEY, generation INTEGER NOT NULL)',
  )
  children = []
})
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  data.close()
  folder.remove()
})

function start(act: string, ...more: readonly string[]): Child {
  const child = new Child([process.execPath, SCRIPT, act, leasePath, dataPath, ...more])
  children.push(child)
  return child
}

function openLease(): Promise<LeaseStore> {
  return openStore(
    { url: `sqlite:${leasePath}`, password: null, passwordFile: null },
    { clock: systemClock(), note: () => undefined },
  )
}

test('processes that stall while they check and write never commit an older generation after a newer one', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const running = Array.from({ length: PROCESSES }, () => start('contend'))
  const lines = (await Promise.all(running.map((child) => child.rest()))).flat()
  assert.deepEqual(await Promise.all(running.map((child) => child.end())), Array(PROCESSES).fill(0))

  const committed = data
    .prepare('SELECT generation FROM entry ORDER BY id')
    .all()
    .map((row) => Number(row.generation))
  assert.deepEqual(
    committed,
    committed.toSorted((a, b) => a - b),
    'an older generation was committed after a newer one',
  )
  const grants = lines.filter(({ kind }) => kind === 'granted')
  const told = lines.filter(({ kind }) => kind === 'written')
  for (const { generation = 0, atMs = 0 } of told) {
    const next = grants.find((grant) => grant.generation === generation + 1)
    assert.ok(
      next === undefined || (next.atMs ?? 0) > atMs,
      `generation ${generation} wrote after its takeover`,
    )
  }
  assert.equal(committed.length, told.length, 'what was committed is what was said to be')
  assert.ok(committed.length >= WRITES_LEAST, `only ${committed.length} writes`)
  assert.ok(
    lines.some(({ kind }) => kind === 'stale'),
    'nobody was ever late: the test has tested nothing',
  )
})

test('a process that is killed inside its write leaves nothing of it, and the takeover goes through', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const child = start('hang')
  assert.deepEqual(await child.next(), { kind: 'writing', generation: 1 })
  const store = await openLease()
  const takeOver = () => store.acquire('fleet', candidate('next'), { ttlMs: TTL_MS, above: 1 }, attempt())
  await until('the lease has run out, and only the open transaction keeps it', async () =>
    (await takeOver()).kind === 'contended' ? true : null,
  )
  await child.kill()
  const granted = await takeOver()
  assert.equal(granted.kind, 'granted')
  assert.deepEqual(data.prepare('SELECT count(*) AS entries FROM entry').get()?.entries, 0)
  await store.close()
})

test('overlapping writes on several databases cannot keep a takeover away once the lease of a dead sidecar has run out', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const store = await openLease()
  const gone = candidate('gone')
  assert.equal((await store.acquire('fleet', gone, { ttlMs: TTL_MS, above: 0 }, attempt())).kind, 'granted')
  const heldUntilMs = sinceBootMs() + TTL_MS
  const writers = Array.from({ length: 3 }, (_, i) => {
    dataPath = join(folder.path, `data-${i}.db`)
    return start('loop', gone.session)
  })
  const next = candidate('next')
  await until('somebody else takes over', async () => {
    const outcome = await store.acquire('fleet', next, { ttlMs: TTL_MS, above: 1 }, attempt())
    return outcome.kind === 'granted' ? true : null
  })
  const lateMs = sinceBootMs() - heldUntilMs
  assert.ok(lateMs < TAKEOVER_SLACK_MS, `${lateMs} ms after the lease had run out`)
  const lines = (await Promise.all(writers.map((child) => child.rest()))).flat()
  assert.equal(lines.length, writers.length, 'each writer was refused in the end')
  for (const { atMs = 0 } of lines) assert.ok(atMs < heldUntilMs + CLOCK_STEPS_MS, 'a write began after that')
  await store.close()
})

/** Comparable between processes of one machine. */
function sinceBootMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000
}
