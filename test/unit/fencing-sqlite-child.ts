/**
 * An application process for the tests of the SQLite guards: `node fencing-sqlite-child.ts ACT LEASE DATA [SESSION]`. It
 * leads by itself, without a sidecar, prints one line of JSON for each thing it did, and ends by itself.
 */
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { Fence } from '../../src/fencing/fence.ts'
import { guardSqlite } from '../../src/fencing/sqlite/strict.ts'
import { openStore } from '../../src/stores/open.ts'
import { attempt, candidate } from '../conformance/harness.ts'

/** So short that many tenures expire in the middle of what they write. */
const TTL_MS = 20
const PAUSE_MOST_MS = 40
const CONTEND_MS = 2_500
const BUSY_TIMEOUT_MS = 5_000
/** A child whose parent has gone does not stay for ever. */
const LIFE_MOST_MS = 30_000
const LONG_WRITE_MS = 150
/** Enough to begin a write in, on a busy machine. */
const HANG_TTL_MS = 500

const [act, leasePath, dataPath, session = ''] = process.argv.slice(2)
if (leasePath === undefined || dataPath === undefined) {
  throw new Error('usage: fencing-sqlite-child.ts ACT LEASE DATA')
}

const clock = systemClock()
const store = await openStore(
  { url: `sqlite:${leasePath}`, password: null, passwordFile: null },
  { clock, note: () => undefined },
)
const data = new DatabaseSync(dataPath, { timeout: BUSY_TIMEOUT_MS })
data.exec('CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, generation INTEGER NOT NULL)')
const insert = data.prepare('INSERT INTO entry (generation) VALUES (?)')
const who = candidate(`process ${process.pid}`)

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** Stands still, event loop and all, as a process does that is not scheduled. */
function stall(forMs = clock.random() * PAUSE_MOST_MS): void {
  const still = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  Atomics.wait(still, 0, 0, forMs)
}

/** Comparable between processes of one machine. */
function sinceBootMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000
}

const ACTS: Readonly<Record<string, () => Promise<void>>> = {
  /** Takes the lease over and over, each time only after it ran out, and writes late. */
  contend: async () => {
    const endsAt = clock.now().steadyMs + CONTEND_MS
    let above = 0
    while (clock.now().steadyMs < endsAt) {
      const result = await store.acquire('fleet', who, { ttlMs: TTL_MS, above }, attempt())
      if (result.kind !== 'granted') {
        if (result.kind === 'refused') above = Math.max(above, result.generation)
        stall()
        continue
      }
      say({ kind: 'granted', generation: result.generation, atMs: sinceBootMs() })
      above = result.generation
      const fence: Fence = { election: 'fleet', session: who.session, generation: above }
      stall()
      const written = guardSqlite(data, leasePath, fence, () => {
        insert.run(above)
        stall()
        return sinceBootMs()
      })
      if (written.ok) say({ kind: 'written', generation: above, atMs: written.value })
      else say({ kind: 'stale', generation: above })
    }
  },

  /** Writes under the first tenure of another process, one long write after the other, until it is refused. */
  loop: async () => {
    const fence: Fence = { election: 'fleet', session, generation: 1 }
    let beganMs = 0
    const write = () => {
      beganMs = sinceBootMs()
      stall(LONG_WRITE_MS)
    }
    while (guardSqlite(data, leasePath, fence, write).ok);
    say({ kind: 'stale', generation: 1, atMs: beganMs })
  },

  /** Leads, and stands still in the middle of a guarded write until it is killed. */
  hang: async () => {
    const granted = await store.acquire('fleet', who, { ttlMs: HANG_TTL_MS, above: 0 }, attempt())
    if (granted.kind !== 'granted') throw new Error(`not granted: ${JSON.stringify(granted)}`)
    const { generation } = granted
    guardSqlite(data, leasePath, { election: 'fleet', session: who.session, generation }, () => {
      insert.run(generation)
      say({ kind: 'writing', generation })
      process.kill(process.pid, 'SIGSTOP')
    })
  },
}

const run = ACTS[act ?? '']
if (run === undefined) throw new Error(`no act ${JSON.stringify(act)}: use one of ${Object.keys(ACTS)}`)
setTimeout(() => process.exit(1), LIFE_MOST_MS).unref()
await run()
