import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { assertLeft, type Rule, SLACK_MS, TTL_MS } from '../harness.ts'

export const renewRules: readonly Rule[] = [
  [
    'a renewal keeps the generation and extends the lease by its ttl from now',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await bench.harness.forwardMs(TTL_MS / 2)
      assert.equal(await holder.renew(held), 'granted')
      await bench.harness.forwardMs(TTL_MS - SLACK_MS)
      const refused = await (await bench.contender()).refused(held.generation)
      assert.equal(refused.generation, held.generation)
      assertLeft(refused.remainingMs, SLACK_MS, 'remaining')
    },
  ],
  [
    'renewals go on for as long as they come in time',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      for (let i = 0; i < 10; i++) {
        await bench.harness.forwardMs(TTL_MS / 2)
        assert.equal(await holder.renew(held), 'granted')
      }
      assert.equal((await holder.current())?.generation, held.generation)
    },
  ],
  [
    'a renewal may shorten the ttl',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win(0, 10 * TTL_MS)
      assert.equal(await holder.renew(held, TTL_MS), 'granted')
      assertLeft((await holder.current())?.remainingMs ?? null, TTL_MS, 'remaining')
    },
  ],
  [
    'a renewal after the expiry is lost although nobody took the lease, and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await bench.harness.forwardMs(TTL_MS + 1_000)
      assert.equal(await bench.unchanged(() => holder.renew(held)), 'lost')
      assert.ok((await holder.win(held.generation)).generation > held.generation)
    },
  ],
  [
    'a renewal after the release is lost, and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await holder.release(held)
      assert.equal(await bench.unchanged(() => holder.renew(held)), 'lost')
    },
  ],
  [
    'a renewal with an old generation is lost, and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await holder.win(held.generation)
      assert.equal(await bench.unchanged(() => holder.renew(held)), 'lost')
    },
  ],
  [
    'a renewal with a generation that was never granted is lost, and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      const ahead = { ...held, generation: held.generation + 1 }
      assert.equal(await bench.unchanged(() => holder.renew(ahead)), 'lost')
    },
  ],
  [
    'a renewal by a foreign session is lost, and changes nothing',
    async (bench) => {
      const held = await (await bench.contender()).win()
      const other = await bench.contender()
      const foreign = { ...held, session: randomUUID() }
      assert.equal(await bench.unchanged(() => other.renew(foreign)), 'lost')
    },
  ],
  [
    'a renewal in an election without a record is lost, and makes none',
    async (bench) => {
      const holder = await bench.contender()
      const never = { election: bench.election, generation: 1, session: randomUUID() }
      assert.equal(await bench.unchanged(() => holder.renew(never)), 'lost')
      assert.equal(await holder.current(), null)
    },
  ],
]
