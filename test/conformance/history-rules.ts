/** What every store that keeps a history must do. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { TTL_MS } from './harness.ts'
import {
  assertAddsUp,
  assertNear,
  brief,
  DAY_MS,
  type Place,
  type Player,
  Scene,
  type Won,
} from './history-scene.ts'

/** Every store keeps as many, and removes by age only beyond the newest of these. */
const KEPT_MOST = 1_000
const KEPT_LEAST = 100

type Rule = (scene: Scene, place: Place) => Promise<void>

export const RULES: Readonly<Record<string, Rule>> = {
  'a tenure lasts, and then ends when its lease was given back, for the reason that its holder gives': async (
    scene,
    place,
  ) => {
    const one = await scene.player('one')
    const won = await one.win()
    assert.equal(won.begun.before, null)
    await one.write(one.entry(won))
    const [lasting] = await one.read()
    assert.deepEqual([lasting?.holder, lasting?.untilMs, lasting?.reason], ['one', null, null])
    assertNear(lasting?.fromMs, won.begun.fromMs, 'from')
    await one.write(one.entry(won, { reason: 'resigned' }))
    assert.equal((await one.read())[0]?.reason, null, 'it has not ended yet')
    await place.forwardMs(2_000)
    const atMs = await one.release(won)
    await one.write(one.entry(won, { reason: 'resigned', untilMs: atMs }))
    const [ended] = await one.read()
    assert.deepEqual([ended?.reason, ended?.leaderlessMs], ['resigned', null])
    assertNear(ended?.untilMs, atMs, 'until')
  },

  'a tenure of which nobody said how it ended ends with its lease': async (scene, place) => {
    const one = await scene.player('one')
    const won = await one.win()
    await one.write(one.entry(won))
    await place.forwardMs(TTL_MS + 5_000)
    const [expired] = await one.read()
    assert.equal(expired?.reason, 'expired')
    assert.ok(expired.untilMs !== null)
    const two = await scene.player('two')
    const next = await two.win(won.generation)
    await two.write(two.entry(next))
    const tenures = await two.read()
    assert.deepEqual(tenures.map(brief), [
      [won.generation, 'one', 'expired'],
      [next.generation, 'two', null],
    ])
    assertAddsUp(tenures)
  },

  'a lease that was given back by a holder that then fell silent was released': async (scene) => {
    const one = await scene.player('one')
    const won = await one.win()
    await one.write(one.entry(won))
    await one.contender.release(won)
    assert.equal((await one.read())[0]?.reason, 'released')
    const two = await scene.player('two')
    const next = await two.win(won.generation)
    await two.write(two.entry(next))
    const tenures = await two.read()
    assert.deepEqual(tenures[0] && brief(tenures[0]), [won.generation, 'one', 'released'])
    assertAddsUp(tenures)
  },

  'a tenure that was never written down is told by the next, as far as the lease told it': async (
    scene,
    place,
  ) => {
    const one = await scene.player('one')
    const killed = await one.win()
    await place.forwardMs(TTL_MS + 1_000)
    const two = await scene.player('two')
    const won = await two.win(killed.generation)
    await two.write(two.entry(won))
    const tenures = await two.read()
    assert.deepEqual(tenures.map(brief), [
      [killed.generation, 'one', 'expired'],
      [won.generation, 'two', null],
    ])
    assert.equal(tenures[0]?.leaderlessMs, null, 'nobody led before')
    assertAddsUp(tenures)
  },

  'a holder that wrote its end down is not forgotten where its successor wrote nothing': async (scene) => {
    const one = await scene.player('one')
    const first = await one.win()
    const untilMs = await one.release(first)
    await one.write(one.entry(first, { reason: 'drained', untilMs }))
    const two = await scene.player('two')
    const silent = await two.win(first.generation)
    await two.release(silent)
    const last = await two.win(silent.generation)
    await two.write(two.entry(last))
    const tenures = await two.read()
    assert.deepEqual(tenures.map(brief), [
      [first.generation, 'one', 'drained'],
      [silent.generation, null, 'released'],
      [last.generation, 'two', null],
    ])
    assert.ok(tenures[1]?.leaderlessMs !== null, 'the rows say how long nobody led')
    assertAddsUp(tenures)
  },

  'two tenures in a row that were never written down leave a gap, and no end is invented': async (
    scene,
    place,
  ) => {
    const one = await scene.player('one')
    const first = await one.win()
    await one.write(one.entry(first))
    const two = await scene.player('two')
    await place.forwardMs(TTL_MS + 1_000)
    const lost = await two.win(first.generation)
    await two.contender.release(lost)
    const also = await two.win(lost.generation)
    await place.forwardMs(TTL_MS + 1_000)
    const three = await scene.player('three')
    const last = await three.win(also.generation)
    await three.write(three.entry(last))
    const tenures = await three.read()
    assert.deepEqual(tenures.map(brief), [
      [first.generation, 'one', 'unknown'],
      [also.generation, 'two', 'expired'],
      [last.generation, 'three', null],
    ])
    assert.equal(tenures[0]?.untilMs, null)
  },

  'a session that takes over from itself tells its own reason': async (scene) => {
    const one = await scene.player('one')
    const first = await one.win()
    await one.write(one.entry(first))
    const second = await one.win(first.generation)
    assert.equal(second.begun.before?.ended, 'unknown')
    await one.write(one.entry(first, { reason: 'deadline' }))
    await one.write(one.entry(second))
    const tenures = await one.read()
    assert.deepEqual(tenures.map(brief), [
      [first.generation, 'one', 'deadline'],
      [second.generation, 'one', null],
    ])
    assertNear(tenures[0]?.untilMs, second.begun.fromMs, 'until')
  },

  'what an old holder writes late, in whatever order and however often, changes nothing of the next': async (
    scene,
    place,
  ) => {
    const [one, two] = [await scene.player('one'), await scene.player('two')]
    let above = 0
    const own = ['begin', 'reason', 'end'] as const
    const orders = fc.tuple(
      fc.integer({ min: 0, max: own.length }),
      fc.array(fc.constantFrom('begin', 'next'), { maxLength: 3 }),
    )
    await fc.assert(
      fc.asyncProperty(orders, async ([position, late]) => {
        const old = await one.win(above)
        await place.forwardMs(1_000)
        const untilMs = await one.release(old)
        const next = await two.win(old.generation)
        assertNear(next.begun.before?.untilMs, untilMs, 'what the next one was told')
        const writes = {
          begin: () => one.write(one.entry(old)),
          reason: () => one.write(one.entry(old, { reason: 'resigned' })),
          end: () => one.write(one.entry(old, { reason: 'resigned', untilMs })),
          next: () => two.write(two.entry(next)),
        }
        for (const step of [...own.toSpliced(position, 0, 'next' as never), ...late]) await writes[step]()
        const tenures = (await two.read()).filter(({ generation }) => generation >= old.generation)
        assert.deepEqual(tenures.map(brief), [
          [old.generation, 'one', 'resigned'],
          [next.generation, 'two', null],
        ])
        assert.equal(tenures[0]?.leaderlessMs, old.leaderlessMs)
        assertNear(tenures[0]?.fromMs, old.begun.fromMs, 'from')
        assertNear(tenures[0]?.untilMs, untilMs, 'until')
        assertNear(tenures[1]?.fromMs, next.begun.fromMs, 'from of the next')
        await two.contender.release(next)
        above = next.generation
      }),
      { numRuns: 12 },
    )
  },

  'a row of one writer is left alone by another under the same generation': async (scene) => {
    const one = await scene.player('one')
    const won = await one.win()
    await one.write(one.entry(won))
    const before = await one.read()
    const twin = await scene.player('twin')
    await twin.write(twin.entry(won, { reason: 'fault', fromMs: 1, leaderlessMs: 5 }))
    assert.deepEqual(await one.read(), before)
  },

  'several processes that write at once lose nothing': async (scene) => {
    const players = await Promise.all(['a', 'b', 'c', 'd'].map((name) => scene.player(name)))
    const wins: { readonly player: Player; readonly won: Won; readonly untilMs: number }[] = []
    for (const player of players) {
      const won = await player.win(wins.at(-1)?.won.generation ?? 0)
      wins.push({ player, won, untilMs: await player.release(won) })
    }
    await Promise.all(
      wins.flatMap(({ player, won, untilMs }) => [
        player.write(player.entry(won)),
        player.write(player.entry(won, { reason: 'drained', untilMs })),
      ]),
    )
    const tenures = await (players[0] as Player).read()
    assert.deepEqual(
      tenures.map(brief),
      wins.map(({ player, won }) => [won.generation, player.identity, 'drained']),
    )
    assertAddsUp(tenures)
  },

  'a lease that somebody deleted leaves the end unknown': async (scene, place) => {
    const one = await scene.player('one')
    await one.write(one.entry(await one.win()))
    await place.deleteLease(scene.election)
    const [tenure] = await one.read()
    assert.deepEqual([tenure?.untilMs, tenure?.reason], [null, 'unknown'])
  },

  'a clock that was set back tells what it told, and breaks nothing': async (scene) => {
    const one = await scene.player('one')
    const won = await one.win()
    await one.write(one.entry(won))
    const { fromMs } = won.begun
    const ahead = { generation: won.generation, holder: 'one', fromMs, untilMs: fromMs + DAY_MS }
    const entry = one.entry(won, {
      generation: won.generation + 1,
      fromMs: fromMs - DAY_MS,
      before: { ...ahead, ended: 'expired' },
    })
    await one.write(entry)
    const generations = (await one.read()).map(({ generation }) => generation)
    assert.deepEqual(generations, [won.generation, won.generation + 1])
  },

  'only the newest rows are kept, and of those beyond a hundred only the ones that are not old': async (
    scene,
    place,
  ) => {
    const one = await scene.player('one')
    const other = new Scene(place)
    await place.fill(scene.election, KEPT_MOST + 50, 0)
    await place.fill(other.election, KEPT_MOST + 50, 0)
    const won = await one.win(KEPT_MOST + 50)
    const before = {
      generation: won.generation - 1,
      holder: 'x',
      fromMs: won.begun.fromMs,
      untilMs: won.begun.fromMs,
    }
    await one.write(one.entry(won, { before: { ...before, ended: 'expired' } }))
    assert.equal(await place.count(scene.election), KEPT_MOST)
    assert.equal(
      await place.count(other.election),
      KEPT_MOST + 50,
      'another election is none of its business',
    )

    const old = new Scene(place)
    const two = await old.player('two')
    await place.fill(old.election, 300, 401)
    const late = await two.win(300)
    await two.write(two.entry(late, { before: { ...before, generation: 300, ended: 'expired' } }))
    await old.close()
    assert.equal(await place.count(old.election), KEPT_LEAST)
  },

  'names and generations of every kind come back as they are, each election by itself': async (
    scene,
    place,
  ) => {
    const names = [
      `Ω "quoted" 'and' %_ ${randomUUID()}`,
      `${scene.election} `,
      'x'.repeat(200 - 36) + randomUUID(),
    ]
    for (const [i, name] of names.entries()) {
      const named = new Scene(place, name)
      const player = await named.player(`holder-${i} ünï \u0001`)
      const won = await player.win(2 ** 53 - 10)
      await player.write(player.entry(won))
      assert.deepEqual((await player.read()).map(brief), [[2 ** 53 - 9, player.identity, null]])
      await named.close()
    }
  },

  'as many are read as were asked for, the newest ones, the oldest of them first': async (scene, place) => {
    const one = await scene.player('one')
    await place.fill(scene.election, 20, 0)
    const generations = (await one.read(3)).map(({ generation }) => generation)
    assert.deepEqual(generations, [18, 19, 20])
  },
}
