import assert from 'node:assert/strict'
import { Contender, candidate, type Rule } from '../harness.ts'

/** As long as a name may be. */
const NAME_MOST = 200

const ODD_NAMES = [
  `it's "quoted" \`twice\``,
  "'; DROP TABLE lease; --",
  'percent %s $1 ? :name @name {0}',
  'back\\slash/and/../dots',
  'Größe Ελλάδα 日本語 العربية',
  '👩‍👩‍👧 é',
  ' leading and trailing ',
  'two\nlines\tand a tab',
  'NULL',
  '0',
]

export const namesRules: readonly Rule[] = [
  [
    'odd names of elections and candidates are kept exactly and stay apart',
    async (bench) => {
      const store = await bench.open()
      const all = ODD_NAMES.map((odd) => new Contender(store, `${bench.election}${odd}`, candidate(odd)))
      const tenures = []
      for (const one of all) tenures.push(await one.win())
      for (const [i, one] of all.entries()) {
        const view = await one.current()
        assert.equal(view?.holder, ODD_NAMES[i])
        assert.equal(view?.session, one.candidate.session)
        const other = new Contender(store, one.election, candidate())
        assert.equal((await other.refused(tenures[i]?.generation)).holder, ODD_NAMES[i])
      }
    },
  ],
  [
    'names differ by case, by trailing space and by Unicode form',
    async (bench) => {
      const store = await bench.open()
      for (const variant of ['a', 'A', 'a ', 'ä', 'a\u0308']) {
        const one = new Contender(store, `${bench.election}${variant}`, candidate(variant))
        await one.win()
        assert.equal((await one.current())?.holder, variant)
      }
    },
  ],
  [
    'names of 200 characters are kept whole',
    async (bench) => {
      const long = (end: string) => `${bench.election}${'é'.repeat(NAME_MOST)}`.slice(0, NAME_MOST - 1) + end
      const store = await bench.open()
      const a = new Contender(store, long('a'), candidate('x'.repeat(NAME_MOST)))
      const b = new Contender(store, long('b'), candidate('y'.repeat(NAME_MOST)))
      await a.win()
      await b.win()
      assert.equal((await a.current())?.holder, 'x'.repeat(NAME_MOST))
      assert.equal((await b.current())?.holder, 'y'.repeat(NAME_MOST))
    },
  ],
]
