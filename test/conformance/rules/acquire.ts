import assert from 'node:assert/strict'
import { GENERATION_LIMIT } from '../../../src/election/tenure.ts'
import { assertAbout, assertLeft, Contender, candidate, type Rule, SLACK_MS, TTL_MS } from '../harness.ts'

export const acquireRules: readonly Rule[] = [
  [
    'the first acquire is granted a generation above `above`, and nobody led before it',
    async (bench) => {
      const first = await (await bench.contender()).win(41)
      assert.ok(first.generation > 41)
      assert.ok(first.generation < GENERATION_LIMIT)
      assert.equal(first.leaderlessMs, null)
    },
  ],
  [
    'a generation is at least 1',
    async (bench) => {
      const first = await (await bench.contender()).win(0)
      assert.ok(Number.isSafeInteger(first.generation) && first.generation >= 1)
    },
  ],
  [
    'another candidate is refused while the lease lives, and is told who holds it and for how long yet',
    async (bench) => {
      const holder = await bench.contender('holder')
      const held = await holder.win()
      const other = await bench.contender('other')
      const refused = await bench.unchanged(() => other.refused(held.generation))
      assert.equal(refused.holder, 'holder')
      assert.equal(refused.session, holder.candidate.session)
      assert.equal(refused.generation, held.generation)
      assertLeft(refused.remainingMs, TTL_MS, 'remaining')
    },
  ],
  [
    'a refusal tells the time that is left, not the whole ttl',
    async (bench) => {
      const held = await (await bench.contender()).win()
      await bench.harness.forwardMs(TTL_MS / 2)
      const refused = await (await bench.contender()).refused(held.generation)
      assertLeft(refused.remainingMs, TTL_MS / 2, 'remaining')
    },
  ],
  [
    'another candidate is refused until just before the expiry',
    async (bench) => {
      const held = await (await bench.contender()).win()
      await bench.harness.forwardMs(TTL_MS - SLACK_MS)
      await (await bench.contender()).refused(held.generation)
    },
  ],
  [
    'the label is no proof: an equal identity of another session is refused',
    async (bench) => {
      const held = await (await bench.contender('twin')).win()
      const refused = await (await bench.contender('twin')).refused(held.generation)
      assert.equal(refused.holder, 'twin')
    },
  ],
  [
    'an acquire by the session that holds begins a new tenure, and the old one is lost',
    async (bench) => {
      const holder = await bench.contender()
      const first = await holder.win()
      const second = await holder.win(first.generation)
      assert.ok(second.generation > first.generation)
      await bench.unchanged(async () => {
        assert.equal(await holder.renew(first), 'lost')
        assert.equal(await holder.release(first), 'lost')
      })
      assert.equal(await holder.renew(second), 'granted')
    },
  ],
  [
    'the same session may acquire through another connection, as after a reply that was lost',
    async (bench) => {
      const holder = await bench.contender()
      const first = await holder.win()
      const again = new Contender(await bench.open(), bench.election, holder.candidate)
      assert.ok((await again.win(first.generation)).generation > first.generation)
    },
  ],
  [
    'the expiry hands the lease over, under a higher generation',
    async (bench) => {
      const held = await (await bench.contender('first')).win()
      await bench.harness.forwardMs(TTL_MS + 1_000)
      const next = await bench.contender('second')
      assert.ok((await next.win(held.generation)).generation > held.generation)
      assert.equal((await next.current())?.holder, 'second')
    },
  ],
  [
    'the ttl that counts is the one of the last grant',
    async (bench) => {
      const held = await (await bench.contender()).win(0, 10 * TTL_MS)
      await bench.harness.forwardMs(2 * TTL_MS)
      const refused = await (await bench.contender()).refused(held.generation)
      assertLeft(refused.remainingMs, 8 * TTL_MS, 'remaining')
    },
  ],
  [
    'after an expiry the winner is told how long nobody held the lease',
    async (bench) => {
      const held = await (await bench.contender()).win()
      await bench.harness.forwardMs(TTL_MS + 30_000)
      const next = await (await bench.contender()).win(held.generation)
      assertAbout(next.leaderlessMs, 30_000, 'leaderless')
    },
  ],
  [
    'after a release the winner is told how long nobody held the lease',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      await bench.harness.forwardMs(5_000)
      assert.equal(await holder.release(held), 'released')
      await bench.harness.forwardMs(30_000)
      const next = await (await bench.contender()).win(held.generation)
      assertAbout(next.leaderlessMs, 30_000, 'leaderless')
    },
  ],
  [
    'a holder that acquires anew while its lease lives leaves no time without a leader',
    async (bench) => {
      const holder = await bench.contender()
      const held = await holder.win()
      assert.equal((await holder.win(held.generation)).leaderlessMs ?? 0, 0)
    },
  ],
  [
    'elections of one place are independent',
    async (bench) => {
      const store = await bench.open()
      const others = Array.from(
        { length: 12 },
        (_, i) => new Contender(store, `${bench.election}-${i}`, candidate(`holder-${i}`)),
      )
      const tenures = await Promise.all(others.map((one, i) => one.win(i * 10)))
      const [first, ...rest] = others
      const released = tenures[0]
      assert.ok(first !== undefined && released !== undefined)
      const rows = await Promise.all(rest.map((one) => bench.row(one.election)))
      assert.equal(await first.release(released), 'released')
      assert.deepEqual(await Promise.all(rest.map((one) => bench.row(one.election))), rows)
      for (const [i, one] of rest.entries()) {
        const view = await one.current()
        assert.equal(view?.holder, `holder-${i + 1}`)
        assert.equal(view?.generation, tenures[i + 1]?.generation)
      }
    },
  ],
]
