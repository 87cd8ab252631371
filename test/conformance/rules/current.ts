import assert from 'node:assert/strict'
import { assertLeft, type Rule, TTL_MS } from '../harness.ts'

export const currentRules: readonly Rule[] = [
  [
    'an election without a record has no view, and looking at it makes none',
    async (bench) => {
      const observer = await bench.contender()
      assert.equal(await observer.current(), null)
      assert.equal(await bench.row(), null)
    },
  ],
  [
    'a live lease is shown with its holder, session, generation and time left',
    async (bench) => {
      const holder = await bench.contender('holder')
      const held = await holder.win()
      await bench.harness.forwardMs(TTL_MS / 4)
      const observer = await bench.contender()
      const view = await bench.unchanged(() => observer.current())
      assert.equal(view?.holder, 'holder')
      assert.equal(view?.session, holder.candidate.session)
      assert.equal(view?.generation, held.generation)
      assertLeft(view?.remainingMs ?? null, (TTL_MS * 3) / 4, 'remaining')
    },
  ],
  [
    'the expiry is shown in ISO 8601, or not at all',
    async (bench) => {
      const holder = await bench.contender()
      await holder.win()
      const expiresAt = (await holder.current())?.expiresAt
      if (expiresAt === null || expiresAt === undefined) return
      assert.match(expiresAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/)
      assert.ok(!Number.isNaN(Date.parse(expiresAt)))
    },
  ],
  [
    'an expired lease is shown as stored, with nothing left',
    async (bench) => {
      const holder = await bench.contender('holder')
      const held = await holder.win()
      await bench.harness.forwardMs(TTL_MS + 1_000)
      const view = await holder.current()
      assert.equal(view?.holder, 'holder')
      assert.equal(view?.session, holder.candidate.session)
      assert.equal(view?.generation, held.generation)
      assert.equal(view?.remainingMs, 0)
    },
  ],
]
