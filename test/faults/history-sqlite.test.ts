/** The history in the SQLite file fails, and no election takes notice. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { attempt, Contender, candidate } from '../conformance/harness.ts'
import { SqlitePlace } from '../conformance/sqlite-place.ts'
import { withFleet } from '../support/fleet.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TEST_TIMEOUT_MS = 90_000
const TTL_MS = 2_000
/** From a release to the next leader, and what a busy machine may add. */
const WAKE_UP_MS = 500 + 400

const folder = tempFolder()
after(() => folder.remove())

interface Told {
  readonly source: string
  readonly error: { readonly kind: string; readonly message: string } | null
  readonly tenures: readonly { readonly generation: number; readonly reason: string | null }[]
}

async function told(one: SidecarProcess): Promise<Told> {
  const answer = await one.ask('/v1/history')
  assert.equal(answer?.status, 200)
  return JSON.parse(answer.body) as Told
}

async function failures(one: SidecarProcess): Promise<number> {
  const metrics = await one.ask('/metrics')
  return Number(/^tenure_history_failures_total\{[^}]*\} (\d+)$/m.exec(metrics?.body ?? '')?.[1])
}

function execute(path: string, sql: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 })
  database.exec(sql)
  database.close()
}

const flags = (path: string) => ['--store', `sqlite:${path}`, '--ttl', `${TTL_MS}ms`, '--log-level', 'debug']

test('a table that is dropped under a leader is told once; renewals and wake-ups go on', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const path = join(folder.path, 'dropped.db')
  await withFleet(t, { args: flags(path), size: 2 }, async (fleet) => {
    const { by, answer } = await fleet.leader()
    execute(path, 'DROP TABLE history')
    for (const member of fleet.members) {
      const { source, error } = await told(member)
      assert.deepEqual([source, error?.kind], ['memory', 'schema'])
      assert.match(error?.message ?? '', /has lost its table history/)
    }
    const renewals = () => by.log.filter(({ event }) => event === 'renewed').length
    const before = renewals()
    await until('it renews twice', () => (renewals() >= before + 2 ? true : null))
    assert.equal((await by.leadership())?.generation, answer.generation)
    const other = fleet.others(by)[0] as SidecarProcess
    const next = fleet.watcher.above(answer.generation ?? 0)
    fleet.watcher.waive(answer.generation ?? 0, performance.now())
    await by.post('/v1/drained', { generation: answer.generation })
    const fromMs = performance.now()
    const tookMs = (await next).answeredMs - fromMs
    assert.ok(tookMs < WAKE_UP_MS, `the next one led after ${tookMs} ms`)
    await until('the writes were counted', async () => ((await failures(other)) >= 2 ? true : null))
    const said = other.log.filter(
      ({ event, detail }) => event === 'store_note' && /history/.test(detail ?? ''),
    )
    assert.equal(said.length, 1)
  })
})

test('a fault of the history leaves the connection that wake-ups come over', async () => {
  const place = new SqlitePlace()
  try {
    const holder = new Contender(await place.open(), 'fleet', candidate())
    const held = await holder.win()
    const follower = await place.open()
    const hints: string[] = []
    const watch = follower.watch?.('fleet', (hint) => hints.push(hint))
    await follower.current('fleet', attempt())
    await place.machine.elapse(1_000)
    hints.length = 0
    execute(place.path, 'DROP TABLE history')
    await assert.rejects(async () => follower.history?.read('fleet', 1, attempt()), { kind: 'schema' })
    await holder.release(held)
    await place.machine.elapse(1_000)
    assert.deepEqual(hints, ['changed'])
    watch?.close()
  } finally {
    await place.close()
  }
})

/** A small disk of its own for one sidecar, in a mount namespace that ends with it. */
const isRoot = process.getuid?.() === 0
const UNSHARE = isRoot ? '-m' : '-rm'
const ENTER = isRoot ? ['-m'] : ['-U', '-m', '--preserve-credentials']
const mountable = spawnSync('unshare', [UNSHARE, 'true']).status === 0
const NO_MOUNT =
  mountable || process.env.CI === 'true'
    ? false
    : 'mounts need unshare(1) and the right to mount: NOT TESTED here'

test('a full disk ends no process: what the history could not write is counted, and written once there is room', {
  skip: NO_MOUNT,
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const disk = join(folder.path, 'disk')
  mkdirSync(disk)
  const mount = `mount -t tmpfs -o size=128k tmpfs ${disk} && exec "$@"`
  const under = ['unshare', UNSHARE, 'sh', '-c', mount, 'sh'] as const
  const args = [...flags(join(disk, 'tenure.db')), '--election', 'full']
  const one = await sidecar(t, 'one', args, { under })
  const inside = (command: string) =>
    execFileSync('nsenter', ['-t', String(one.child.pid), ...ENTER, 'sh', '-c', command])
  const first = await one.leads()
  await until('it is written down', async () => ((await told(one)).source === 'store' ? true : null))
  inside(`cat /dev/zero > ${disk}/fill 2>/dev/null || true`)
  await until('the tenure ended, as no renewal can be written', async () =>
    (await one.report())?.leading ? null : true,
  )
  await until('what could not be written is counted', async () => ((await failures(one)) > 0 ? true : null))
  inside(`rm ${disk}/fill`)
  const next = await one.leads()
  assert.ok((next.generation ?? 0) > (first.generation ?? 0))
  const tenures = await until('all of it is written', async () => {
    const { source, tenures: all } = await told(one)
    return source === 'store' && all.length >= 2 ? all : null
  })
  assert.equal(tenures[0]?.generation, first.generation)
  assert.equal(tenures[0]?.reason, 'deadline')
})

test('a file of the version before is brought up to date under its leader, who loses nothing', async () => {
  const place = new SqlitePlace()
  try {
    const holder = new Contender(await place.open(), 'fleet', candidate())
    const held = await holder.win()
    execute(place.path, 'DROP TABLE history; PRAGMA user_version = 1')
    const late = new Contender(await place.open(), 'fleet', candidate())
    await late.refused(held.generation)
    const database = new DatabaseSync(place.path, { readOnly: true })
    assert.equal(database.prepare('PRAGMA user_version').get()?.user_version, 2)
    assert.equal(database.prepare('SELECT count(*) AS n FROM history').get()?.n, 0)
    database.close()
    assert.equal(await holder.renew(held), 'granted')
  } finally {
    await place.close()
  }
})
