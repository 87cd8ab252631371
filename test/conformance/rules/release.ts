import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type Rule, TTL_MS } from '../harness.ts'

export const releaseRules: readonly Rule[] = [
  [
    'a release frees at once and keeps the generation, and the next holder gets a higher one',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win(7)
      assert.equal(await holder.release(held), 'released')
      const view = await holder.current()
      assert.equal(view?.holder, null)
      assert.equal(view?.session, null)
      assert.equal(view?.generation, held.generation)
      assert.equal(view?.remainingMs ?? 0, 0)
      const next = await (await bench.contender()).win(held.generation)
      assert.ok(next.generation > held.generation)
    },
  ],
  [
    'whoever released may acquire again, under a higher generation',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await holder.release(held)
      assert.ok((await holder.win(held.generation)).generation > held.generation)
    },
  ],
  [
    'an expired tenure that nobody took can still be released',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await bench.harness.forwardMs(TTL_MS + 1_000)
      assert.equal(await holder.release(held), 'released')
      assert.equal((await holder.current())?.holder, null)
      assert.equal((await holder.current())?.generation, held.generation)
    },
  ],
  [
    'a second release is lost, and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      assert.equal(await holder.release(held), 'released')
      assert.equal(await bench.unchanged(() => holder.release(held)), 'lost')
    },
  ],
  [
    "a deposed holder's release is lost, and changes nothing",
    async (bench) => {
      const old = await bench.contender()
      const held = await old.win()
      await bench.harness.forwardMs(TTL_MS + 1_000)
      const next = await bench.contender()
      const taken = await next.win(held.generation)
      assert.equal(await bench.unchanged(() => old.release(held)), 'lost')
      assert.equal(await next.renew(taken), 'granted')
    },
  ],
  [
    'a release with an old generation of our own is lost, and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const first = await holder.win()
      const second = await holder.win(first.generation)
      assert.equal(await bench.unchanged(() => holder.release(first)), 'lost')
      assert.equal(await holder.renew(second), 'granted')
    },
  ],
  [
    'a release by a foreign session is lost, and changes nothing',
    async (bench) => {
      const held = await (await bench.contender()).win()
      const other = await bench.contender()
      const foreign = { ...held, session: randomUUID() }
      assert.equal(await bench.unchanged(() => other.release(foreign)), 'lost')
    },
  ],
  [
    'a release in an election without a record is lost, and makes none',
    async (bench) => {
      const holder = await bench.contender()
      const never = { election: bench.election, generation: 1, session: randomUUID() }
      assert.equal(await bench.unchanged(() => holder.release(never)), 'lost')
      assert.equal(await holder.current(), null)
    },
  ],
]
