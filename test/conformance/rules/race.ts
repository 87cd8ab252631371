import assert from 'node:assert/strict'
import type { TenureKey } from '../../../src/election/tenure.ts'
import { type Bench, Contender, candidate, type Rule, TTL_MS } from '../harness.ts'

const STORES = 4
const CANDIDATES = 16
const ROUNDS = 25

interface Won {
  readonly winner: Contender
  readonly tenure: TenureKey
}

async function crowd(bench: Bench): Promise<readonly Contender[]> {
  const stores = await Promise.all(Array.from({ length: STORES }, () => bench.open()))
  return Array.from({ length: CANDIDATES }, (_, i) => {
    const store = stores[i % STORES]
    assert.ok(store !== undefined)
    return new Contender(store, bench.election, candidate(`candidate-${i}`))
  })
}

/** All acquire at once; exactly one may win, and every other must name it or what stood before it. */
async function race(all: readonly Contender[], above: number): Promise<Won> {
  const results = await Promise.all(all.map((one) => one.acquire(above)))
  const won: Won[] = []
  for (const [i, result] of results.entries()) {
    const winner = all[i]
    if (result.kind !== 'granted' || winner === undefined) continue
    const { election, candidate: who } = winner
    won.push({ winner, tenure: { election, session: who.session, generation: result.generation } })
  }
  assert.equal(won.length, 1, `${won.length} winners in one round`)
  const [only] = won
  assert.ok(only !== undefined)
  assert.ok(only.tenure.generation > above, 'a generation was granted twice')
  return only
}

export const raceRules: readonly Rule[] = [
  [
    `of ${CANDIDATES} candidates that acquire at once exactly one wins, and no generation repeats (releases)`,
    async (bench) => {
      const all = await crowd(bench)
      let above = 0
      for (let round = 0; round < ROUNDS; round++) {
        const { winner, tenure } = await race(all, above)
        above = tenure.generation
        assert.equal(await winner.release(tenure), 'released')
      }
    },
  ],
  [
    `of ${CANDIDATES} candidates that acquire at once exactly one wins, and no generation repeats (expiries)`,
    async (bench) => {
      const all = await crowd(bench)
      let above = 0
      for (let round = 0; round < ROUNDS; round++) {
        const { tenure } = await race(all, above)
        above = tenure.generation
        await bench.harness.forwardMs(TTL_MS + 1_000)
      }
    },
  ],
  [
    'an old holder that renews and releases while others take its expired lease changes nothing for the winner',
    async (bench) => {
      const old = await bench.contender('old')
      const all = await crowd(bench)
      let above = 0
      for (let round = 0; round < ROUNDS; round++) {
        const held = await old.win(above)
        await bench.harness.forwardMs(TTL_MS + 1_000)
        const [renewed, { winner, tenure }] = await Promise.all([old.renew(held), race(all, held.generation)])
        assert.equal(renewed, 'lost')
        assert.equal(await old.release(held), 'lost')
        assert.equal(await winner.renew(tenure), 'granted')
        assert.equal(await winner.release(tenure), 'released')
        above = tenure.generation
      }
    },
  ],
  [
    'a renewal in time holds against any number of candidates',
    async (bench) => {
      const holder = await bench.contender('holder')
      const all = await crowd(bench)
      const held = await holder.win()
      for (let round = 0; round < ROUNDS; round++) {
        const [renewed, ...others] = await Promise.all([
          holder.renew(held),
          ...all.map((one) => one.acquire(held.generation)),
        ])
        assert.equal(renewed, 'granted')
        assert.ok(others.every((result) => result.kind === 'refused' && result.holder === 'holder'))
      }
    },
  ],
]
