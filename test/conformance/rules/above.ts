import assert from 'node:assert/strict'
import { GENERATION_LIMIT } from '../../../src/election/tenure.ts'
import { type Rule, TTL_MS } from '../harness.ts'

export const aboveRules: readonly Rule[] = [
  [
    'a high `above` is exceeded',
    async (bench) => {
      const holder = await bench.contender()
      const first = await holder.win(3)
      assert.equal(await holder.release(first), 'released')
      assert.ok((await holder.win(1_000_000)).generation > 1_000_000)
    },
  ],
  [
    'generations stay exact up to the limit',
    async (bench) => {
      const limit = bench.harness.generationLimit ?? GENERATION_LIMIT
      const { generation } = await (await bench.contender()).win(limit - 5)
      assert.ok(generation > limit - 5 && generation < limit, `${generation}`)
      const view = await (await bench.contender()).current()
      assert.equal(view?.generation, generation)
    },
  ],
  [
    'an acquire with a low `above` is refused on a free lease, naming what stands, and changes nothing',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win(5)
      assert.equal(await holder.release(held), 'released')
      const refused = await bench.unchanged(() => holder.refused(held.generation - 1))
      assert.deepEqual(refused, {
        kind: 'refused',
        holder: null,
        session: null,
        generation: held.generation,
        remainingMs: 0,
      })
    },
  ],
  [
    'an acquire with a low `above` is refused on our own live lease, naming it, and changes nothing',
    async (bench) => {
      const holder = await bench.contender('holder')
      const held = await holder.win(5)
      const refused = await bench.unchanged(() => holder.refused(held.generation - 1))
      assert.equal(refused.holder, 'holder')
      assert.equal(refused.session, holder.candidate.session)
      assert.equal(refused.generation, held.generation)
      assert.equal(await holder.renew(held), 'granted')
    },
  ],
  [
    'an acquire with a low `above` is refused on an expired lease, and changes nothing',
    async (bench) => {
      const held = await (await bench.contender()).win(5)
      await bench.harness.forwardMs(TTL_MS + 1_000)
      const other = await bench.contender()
      const refused = await bench.unchanged(() => other.refused(held.generation - 1))
      assert.equal(refused.generation, held.generation)
      assert.equal(refused.remainingMs, 0)
      assert.ok((await other.win(refused.generation)).generation > held.generation)
    },
  ],
  [
    'an acquire with a low `above` is refused on the live lease of another, which is named',
    async (bench) => {
      const held = await (await bench.contender('holder')).win(5)
      const other = await bench.contender()
      const refused = await bench.unchanged(() => other.refused(0))
      assert.equal(refused.holder, 'holder')
      assert.equal(refused.generation, held.generation)
    },
  ],
  [
    'an acquire that was given up and comes late cannot depose the next tenure of its own session',
    async (bench) => {
      const holder = await bench.contender()
      const first = await holder.win()
      const second = await holder.win(first.generation)
      await bench.unchanged(() => holder.refused(first.generation))
      assert.equal(await holder.renew(second), 'granted')
    },
  ],
]
