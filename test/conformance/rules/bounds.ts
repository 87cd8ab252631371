import assert from 'node:assert/strict'
import { StoreError } from '../../../src/stores/store.ts'
import { abortedAttempt, type Bench, type Rule, TTL_MS } from '../harness.ts'

/** Makes a request that was given up before it began: it fails or says nothing, and never succeeds. */
async function assertGivenUp(request: Promise<{ readonly kind: string } | null>): Promise<void> {
  const outcome = await request.catch((error: unknown) => error)
  if (outcome instanceof StoreError) assert.equal(outcome.kind, 'unavailable')
  else assert.deepEqual(outcome, { kind: 'contended' })
}

/** Whatever an abandoned request may still have under way has had its turn once these were answered. */
async function afterOthers(bench: Bench): Promise<void> {
  const others = await Promise.all([bench.contender(), bench.contender(), bench.contender()])
  for (const other of others) await other.current()
}

export const boundsRules: readonly Rule[] = [
  [
    'an acquire that was given up beforehand grants nothing, now or later',
    async (bench) => {
      const { store, election, candidate } = await bench.contender('given-up')
      await bench.unchanged(async () => {
        await assertGivenUp(store.acquire(election, candidate, { ttlMs: TTL_MS, above: 0 }, abortedAttempt()))
        await afterOthers(bench)
      })
      const other = await bench.contender('other')
      const held = await other.win()
      assert.equal(await other.renew(held), 'granted')
      assert.equal((await other.current())?.holder, 'other')
    },
  ],
  [
    'a renewal that was given up beforehand does not succeed and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await bench.unchanged(async () => {
        await assertGivenUp(holder.store.renew(held, TTL_MS, abortedAttempt()))
        await afterOthers(bench)
      })
    },
  ],
  [
    'a release that was given up beforehand does not succeed and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await bench.unchanged(async () => {
        await assertGivenUp(holder.store.release(held, abortedAttempt()))
        await afterOthers(bench)
      })
    },
  ],
  [
    'a store still serves after a request that was given up',
    async (bench) => {
      const holder = await bench.contender()
      const { store, election, candidate } = holder
      await assertGivenUp(store.acquire(election, candidate, { ttlMs: TTL_MS, above: 0 }, abortedAttempt()))
      const held = await holder.win()
      assert.equal(await holder.renew(held), 'granted')
    },
  ],
  [
    'the least ttl is what the harness says, and it works',
    async (bench) => {
      const holder = await bench.contender()
      assert.equal(holder.store.leastTtlMs, bench.harness.leastTtlMs)
      const held = await holder.win(0, bench.harness.leastTtlMs)
      await bench.harness.forwardMs(bench.harness.leastTtlMs + 1_000)
      await (await bench.contender()).win(held.generation)
    },
  ],
  [
    'closing a store twice is the same as once',
    async (bench) => {
      const store = await bench.open()
      await store.close()
      await store.close()
    },
  ],
]
