/** What sidecars do when their SQLite file is taken away, exchanged, or may not be written. */
import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { tenure } from '../support/command.ts'
import { type Fleet, withFleet } from '../support/fleet.ts'
import { sidecar, until } from '../support/sidecar.ts'
import { type TempFolder, tempFolder } from '../support/temp.ts'

const TTL_MS = 1_000
/** A change is seen by the next look or renewal; then one whole ttl is waited out. */
const NOTICED_MOST_MS = TTL_MS / 2
const AFTER_EXPIRY_MS = 1_000
const TEST_TIMEOUT_MS = 30_000

let folder: TempFolder
let path: string
beforeEach(() => {
  folder = tempFolder()
  path = join(folder.path, 'tenure.db')
})
afterEach(() => folder.remove())

const flags = () => ['--store', `sqlite:${path}`, '--ttl', `${TTL_MS}ms`]

/** Lets the generation grow by one, so that a copy made before is older. */
async function anotherTenure(fleet: Fleet): Promise<void> {
  const { by, answer } = await fleet.leader()
  const generation = answer.generation ?? 0
  const next = fleet.watcher.above(generation)
  fleet.watcher.waive(generation, performance.now())
  assert.equal((await by.post('/v1/drained', { generation }))?.status, 200)
  await next
  // What nobody but the new holder has seen yet would be forgotten with the file.
  await until('the other has seen it', async () =>
    ((await by.report())?.current?.generation ?? 0) > generation ? true : null,
  )
}

const CHANGES: Readonly<Record<string, (backup: string) => void>> = {
  removed: () => rmSync(path),
  'replaced by a backup': (backup) => renameSync(backup, path),
  'restored from a backup in its place': (backup) => copyFileSync(backup, path),
}

describe('the file under two running sidecars is', () => {
  for (const [change, happen] of Object.entries(CHANGES)) {
    test(`${change}: never two lead, and the next generation is higher`, {
      timeout: TEST_TIMEOUT_MS,
    }, async (t) => {
      await withFleet(t, { args: flags(), size: 2 }, async (fleet) => {
        await fleet.leader()
        const backup = join(folder.path, 'backup.db')
        copyFileSync(path, backup)
        await anotherTenure(fleet)
        const { by, answer } = await fleet.leader()
        happen(backup)
        const changedMs = performance.now()
        const ended = until('the tenure ends', async () =>
          (await by.report())?.leading ? null : performance.now(),
        )
        const next = await fleet.watcher.above(answer.generation ?? 0)
        assert.ok((await ended) - changedMs < TTL_MS, 'it was not noticed')
        const tookMs = next.answeredMs - changedMs
        assert.ok(tookMs < NOTICED_MOST_MS + TTL_MS + AFTER_EXPIRY_MS, `${tookMs} ms`)
        const since = performance.now()
        await until('it lasts', () => (performance.now() - since > TTL_MS ? true : null))
        assert.equal((await fleet.leader()).answer.generation, next.answer.generation, fleet.watcher.story())
      })
    })
  }
})

test('a path that can never be a file stops the start with 2, and the message says what to name', async () => {
  const below = join(folder.path, 'folder')
  mkdirSync(below)
  writeFileSync(join(folder.path, 'letter'), 'to whom it may concern')
  for (const [place, says] of [
    [below, /is a folder: name a file in it/],
    [join(folder.path, 'letter', 'tenure.db'), /lies below .*letter, which is a file/],
    [join(folder.path, 'letter'), /is not a SQLite database/],
  ] as const) {
    const { code, stderr } = await tenure(['run', '--store', `sqlite:${place}`, '--listen', '127.0.0.1:0'])
    assert.equal(code, 2, stderr)
    assert.match(stderr, says)
    assert.match(stderr, new RegExp(place))
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
  }
})

/** Without the privileges that let root write everything. */
const WITHOUT_PRIVILEGES = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--'] as const

test('a file that may not be written: stays up, says which right is missing, and leads once it is given', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const first = await sidecar(t, 'first', flags())
  await first.leads()
  first.kill('SIGTERM')
  assert.equal(await first.exited(), 0)
  chmodSync(path, 0o444)
  const how = process.getuid?.() === 0 ? { under: WITHOUT_PRIVILEGES } : {}
  const one = await sidecar(t, 'second', flags(), how)
  const error = await until(
    'the fault is in the status',
    async () => (await one.report())?.store.error ?? null,
  )
  assert.equal(error.kind, 'denied')
  assert.match(error.message, /tenure\.db cannot be written: give this user \(uid \d+\) the right/)
  assert.equal((await one.ask('/readyz'))?.status, 503)
  chmodSync(path, 0o644)
  await one.leads(TTL_MS + AFTER_EXPIRY_MS)
  assert.equal((await one.ask('/readyz'))?.status, 200)
})
