import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hint, LeaseStore, Watch } from '../../../src/stores/store.ts'
import type { Bench, Rule } from '../harness.ts'

const WAKE_MOST_MS = 20_000
const POLL_MS = 20
/** How long one release is waited for before the next: a hint may be lost while a watch is still being set up. */
const ROUND_MS = 1_000
/** What one poll lets go by on the store's clock, for stores that poll by a clock moved by hand. */
const FORWARD_MS = 50

function watching(store: LeaseStore, election: string, hints: Hint[]): Watch {
  assert.ok(store.watch !== undefined, 'a store that supports watching has a watch')
  return store.watch(election, (hint) => hints.push(hint))
}

/** Acquires and releases until `woken` says so; fails when that never happens. */
async function releaseUntil(bench: Bench, woken: () => boolean): Promise<void> {
  const holder = await bench.contender('holder')
  const giveUpAt = performance.now() + WAKE_MOST_MS
  let above = 0
  while (performance.now() < giveUpAt) {
    const held = await holder.win(above)
    above = held.generation
    await holder.release(held)
    const roundEndsAt = performance.now() + ROUND_MS
    while (performance.now() < roundEndsAt) {
      if (woken()) return
      await sleep(POLL_MS)
      await bench.harness.forwardMs(FORWARD_MS)
    }
  }
  assert.fail(`no wake-up within ${WAKE_MOST_MS} ms of releases`)
}

export const watchRules: readonly Rule[] = [
  [
    'a watch wakes on a release by another process',
    async (bench) => {
      const hints: Hint[] = []
      const watch = watching(await bench.open(), bench.election, hints)
      await releaseUntil(bench, () => hints.length > 0)
      assert.equal(hints[0], 'changed')
      watch.close()
    },
  ],
  [
    'several watches of one store are all woken',
    async (bench) => {
      const store = await bench.open()
      const a: Hint[] = []
      const b: Hint[] = []
      const watches = [watching(store, bench.election, a), watching(store, bench.election, b)]
      await releaseUntil(bench, () => a.length > 0 && b.length > 0)
      for (const watch of watches) watch.close()
    },
  ],
  [
    'a closed watch is silent, closing it twice is the same as once, and others go on',
    async (bench) => {
      const store = await bench.open()
      const closed: Hint[] = []
      const open: Hint[] = []
      const first = watching(store, bench.election, closed)
      const second = watching(store, bench.election, open)
      first.close()
      first.close()
      await releaseUntil(bench, () => open.length > 0)
      assert.deepEqual(closed, [])
      second.close()
    },
  ],
  [
    'closing the store ends its watches',
    async (bench) => {
      const store = await bench.open()
      const hints: Hint[] = []
      const watch = watching(store, bench.election, hints)
      await store.close()
      const other: Hint[] = []
      const witness = watching(await bench.open(), bench.election, other)
      await releaseUntil(bench, () => other.length > 0)
      assert.deepEqual(hints, [])
      watch.close()
      witness.close()
    },
  ],
]
