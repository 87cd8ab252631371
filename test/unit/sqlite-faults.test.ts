import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { StoreError } from '../../src/stores/store.ts'
import { attempt, Contender, candidate } from '../conformance/harness.ts'
import { SqlitePlace } from '../conformance/sqlite-place.ts'
import { Child, childCommand } from '../conformance/sqlite-process.ts'

const TTL_MS = 10_000
/** Far above the busy timeout, far below what a stalled loop would show. */
const STALL_MS = 500
const TEST_TIMEOUT_MS = 30_000

let place: SqlitePlace
let child: Child | null
beforeEach(() => {
  place = new SqlitePlace()
  child = null
})
afterEach(async () => {
  await child?.kill()
  await place.close()
})

async function contender(): Promise<Contender> {
  return new Contender(await place.open(), 'fleet', candidate())
}

function execute(sql: string): void {
  const database = new DatabaseSync(place.path)
  database.exec(sql)
  database.close()
}

test('a file that is no database stops the start, and is left as it is', async () => {
  const letter = 'to whom it may concern\n'.repeat(500)
  writeFileSync(place.path, letter)
  await assert.rejects(place.open(), { kind: 'misconfigured', message: /is not a SQLite database/ })
  assert.equal(readFileSync(place.path, 'utf8'), letter)
})

test("another program's database stops the start, and is left as it is", async () => {
  execute('PRAGMA journal_mode = WAL; CREATE TABLE customer (name TEXT)')
  await assert.rejects(place.open(), { kind: 'misconfigured', message: /the database of another program/ })
  const database = new DatabaseSync(place.path)
  assert.equal(database.prepare('PRAGMA journal_mode').get()?.journal_mode, 'wal')
  assert.equal(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n, 1)
  database.close()
})

test('an empty database with the mark of another program is refused', async () => {
  execute('PRAGMA application_id = 4711')
  await assert.rejects(place.open(), { kind: 'misconfigured', message: /the database of another program/ })
})

test('a file of a newer schema opens, and each request says that this Tenure is older', async () => {
  await (await contender()).win(0, TTL_MS)
  execute('PRAGMA user_version = 7')
  const late = await contender()
  const schema = { name: 'StoreError', kind: 'schema', message: /version 7, and this Tenure is older/ }
  await assert.rejects(late.acquire(), schema)
  await assert.rejects(late.current(), schema)
  execute('PRAGMA user_version = 2')
  assert.equal((await late.current())?.generation, 1)
})

test('a file damaged while it is in use is an error that says what to do, and a cause', async () => {
  const holder = await contender()
  const held = await holder.win(0, TTL_MS)
  truncateSync(place.path, 5_000)
  const error = await holder.renew(held, TTL_MS).catch((fault: unknown) => fault)
  assert.ok(error instanceof StoreError)
  assert.equal(error.kind, 'unavailable')
  assert.match(error.message, /is damaged: stop every candidate/)
  assert.ok(error.cause instanceof Error)
})

test('a file turned into something else while in use is an error, and heals when it is taken away', async () => {
  const holder = await contender()
  const held = await holder.win(0, TTL_MS)
  writeFileSync(place.path, 'x'.repeat(8_192))
  await assert.rejects(holder.renew(held, TTL_MS), { kind: 'misconfigured' })
  rmSync(place.path)
  assert.equal(await holder.renew(held, TTL_MS), 'lost')
  place.machine.advance(TTL_MS)
  await holder.win(held.generation, TTL_MS)
})

test('a database that somebody emptied of its name is an error of the schema', async () => {
  const holder = await contender()
  const held = await holder.win(0, TTL_MS)
  execute('DELETE FROM place')
  await assert.rejects(holder.renew(held, TTL_MS), { kind: 'schema', message: /has lost the row/ })
})

test('a lock held by another process is contention, and the event loop is not stalled', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const holder = await contender()
  const held = await holder.win(0, TTL_MS)
  const options = { ttlMs: TTL_MS, above: held.generation }
  const { store } = holder
  child = new Child(childCommand('lock', place.path))
  assert.equal((await child.next())?.kind, 'locked')

  const requests = [
    () => store.acquire('fleet', holder.candidate, options, attempt()),
    () => store.renew(held, TTL_MS, attempt()),
    () => store.release(held, attempt()),
  ]
  for (const request of [...requests, ...requests, ...requests]) {
    const startedAt = performance.now()
    assert.deepEqual(await request(), { kind: 'contended' })
    assert.ok(performance.now() - startedAt < STALL_MS, 'a request waited for a lock')
  }
  await assert.rejects(holder.current(), { kind: 'unavailable', message: /is locked by another process/ })
  const newcomer = await contender()
  assert.deepEqual(await newcomer.store.acquire('fleet', newcomer.candidate, options, attempt()), {
    kind: 'contended',
  })

  assert.equal(await child.end(), 0)
  assert.equal(await holder.renew(held, TTL_MS), 'granted')
})

test('a folder without the right to write is denied, naming it, and recovers when the right is given', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const folder = join(place.folder.path, 'locked')
  mkdirSync(folder)
  chmodSync(place.folder.path, 0o755)
  chmodSync(folder, 0o555)
  child = new Child(childCommand('unprivileged', join(folder, 'tenure.db')))
  const first = await child.next()
  assert.equal(first?.kind, 'denied')
  assert.match(first?.message ?? '', /the folder .*locked cannot be written.*give this user \(uid \d+\)/)
  chmodSync(folder, 0o777)
  assert.equal((await child.rest()).at(-1)?.kind, 'granted')
})

test('a file without the right to write is denied, naming it, and recovers when the right is given', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const holder = await contender()
  await holder.release(await holder.win(0, TTL_MS))
  chmodSync(place.folder.path, 0o777)
  chmodSync(place.path, 0o444)
  child = new Child(childCommand('unprivileged', place.path))
  const first = await child.next()
  assert.equal(first?.kind, 'denied')
  assert.match(first?.message ?? '', /tenure\.db cannot be written/)
  chmodSync(place.path, 0o666)
  chmodSync(`${place.path}-journal`, 0o666)
  assert.equal((await child.rest()).at(-1)?.kind, 'granted')
})

test('a folder that may not even be entered is denied', { timeout: TEST_TIMEOUT_MS }, async () => {
  chmodSync(place.folder.path, 0o000)
  child = new Child(childCommand('unprivileged', place.path))
  const first = await child.next()
  assert.equal(first?.kind, 'denied')
  chmodSync(place.folder.path, 0o777)
  assert.equal((await child.rest()).at(-1)?.kind, 'granted')
})

/** A small disk of its own for one command, in a mount namespace that ends with it. */
const MOUNT = process.getuid?.() === 0 ? ['unshare', '-m'] : ['unshare', '-rm']
const mountable = spawnSync(MOUNT[0] ?? '', [...MOUNT.slice(1), 'true']).status === 0
const NO_MOUNT =
  mountable || process.env.CI === 'true'
    ? false
    : 'mounts need unshare(1) and the right to mount: NOT TESTED here'

test('a full disk is unavailable, naming the file, and recovers when there is room', {
  skip: NO_MOUNT,
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const mount = `mount -t tmpfs -o size=128k tmpfs "$0" && exec "$@"`
  const command = childCommand('full-disk', place.path)
  child = new Child([...MOUNT, 'sh', '-c', mount, place.folder.path, ...command])
  const [filled, full, after, ...more] = await child.rest()
  assert.match(filled?.message ?? '', /ENOSPC/)
  assert.equal(full?.kind, 'unavailable')
  assert.match(full?.message ?? '', /no space left to write .*tenure\.db/)
  assert.deepEqual(after, { kind: 'granted' })
  assert.deepEqual(more, [])
})

test('a file that is mounted alone is remarked on: its journal is not shared', {
  skip: NO_MOUNT,
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const file = join(place.folder.path, 'real.db')
  writeFileSync(file, '')
  writeFileSync(place.path, '')
  const mount = `mount --bind "$0" "$1" && shift && exec "$@"`
  const command = childCommand('notes', place.path)
  child = new Child([...MOUNT, 'sh', '-c', mount, file, place.path, ...command])
  const [note, ...more] = await child.rest()
  assert.match(note?.message ?? '', /mounted as a single file.*mount its folder/)
  assert.deepEqual(more, [])
})
