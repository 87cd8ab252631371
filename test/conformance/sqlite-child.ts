/**
 * Another process for the tests of the SQLite store: `node sqlite-child.ts ACT PATH`. It prints one line of JSON for
 * each thing it did, and ends by itself.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/clock/system-clock.ts'
import { openStore } from '../../src/stores/open.ts'
import { type LeaseStore, StoreError } from '../../src/stores/store.ts'
import { attempt, candidate } from './harness.ts'

const TTL_MS = 2_000
const NOBODY_ID = 65_534
const RETRY_MS = 20
const CONTEND_MS = 2_000
const BLOCK_BYTES = 4_096
/** A child whose parent has gone does not stay for ever. */
const LIFE_MOST_MS = 30_000

const [act, path] = process.argv.slice(2)
if (path === undefined) throw new Error('usage: sqlite-child.ts ACT PATH')

const notes: string[] = []

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function open(): Promise<LeaseStore> {
  return openStore(
    { url: `sqlite:${path}`, password: null, passwordFile: null },
    { clock: systemClock(), note: (message) => notes.push(message) },
  )
}

/** One acquire, told as a line. Answers whether it was granted. */
async function tell(store: LeaseStore): Promise<boolean> {
  const options = { ttlMs: TTL_MS, above: 2 ** 40 }
  try {
    const { kind } = await store.acquire('fleet', candidate(), options, attempt())
    say({ kind })
    return kind === 'granted'
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    say({ kind: error.kind, message: error.message })
    return false
  }
}

const ACTS: Readonly<Record<string, (path: string) => Promise<void>>> = {
  /** Without the rights of root: asks until it is granted. */
  unprivileged: async () => {
    if (process.getuid?.() === 0) {
      process.setgroups?.([])
      process.setgid?.(NOBODY_ID)
      process.setuid?.(NOBODY_ID)
    }
    const store = await open()
    while (!(await tell(store))) await sleep(RETRY_MS)
    await store.close()
  },

  /** On a small disk: fills it up, asks, makes room, and asks again. */
  'full-disk': async (path) => {
    const store = await open()
    const filler = join(dirname(path), 'filler')
    const file = openSync(filler, 'w')
    try {
      for (;;) writeSync(file, Buffer.alloc(BLOCK_BYTES))
    } catch (error) {
      say({ kind: 'filled', message: String(error) })
    }
    closeSync(file)
    await tell(store)
    rmSync(filler)
    await tell(store)
    await store.close()
  },

  /** Tells what opening the file was worth remarking on. */
  notes: async () => {
    await (await open()).close()
    for (const message of notes) say({ kind: 'note', message })
  },

  /** Keeps the file locked until its standard input ends. */
  lock: async (path) => {
    const database = new DatabaseSync(path)
    database.exec('BEGIN EXCLUSIVE')
    say({ kind: 'locked' })
    for await (const _ of process.stdin);
    database.exec('ROLLBACK')
    database.close()
  },

  /** Acquires and releases for a while, as fast as it can, and tells every generation that it was granted. */
  contend: async () => {
    const store = await open()
    const endsAt = performance.now() + CONTEND_MS
    const who = candidate()
    let above = 0
    while (performance.now() < endsAt) {
      const result = await store.acquire('fleet', who, { ttlMs: TTL_MS, above }, attempt())
      if (result.kind === 'granted') {
        above = result.generation
        say({ kind: 'granted', generation: above, atMs: Number(process.hrtime.bigint() / 1_000n) / 1_000 })
        await sleep(1)
        const untilMs = Number(process.hrtime.bigint() / 1_000n) / 1_000
        const tenure = { election: 'fleet', generation: above, session: who.session }
        let released = await store.release(tenure, attempt())
        while (released.kind === 'contended') released = await store.release(tenure, attempt())
        say({ kind: released.kind, generation: above, atMs: untilMs })
      } else if (result.kind === 'refused') above = Math.max(above, result.generation)
      await sleep(1)
    }
    await store.close()
  },
}

const run = ACTS[act ?? '']
if (run === undefined) throw new Error(`no act ${JSON.stringify(act)}: use one of ${Object.keys(ACTS)}`)
setTimeout(() => process.exit(1), LIFE_MOST_MS).unref()
await run(path)
