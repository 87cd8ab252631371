/**
 * What every store must do. `describeStore` runs the same rules against any of them: a file of rules for each
 * operation, and the races between them.
 *
 * A test file names its store and says how to reach it; where a real server is missing, it passes a skip that says
 * why (and none with CI=true).
 */
import { after, before, describe, it } from 'node:test'
import { Bench, type Rule, type StoreHarness } from './harness.ts'
import { aboveRules } from './rules/above.ts'
import { acquireRules } from './rules/acquire.ts'
import { boundsRules } from './rules/bounds.ts'
import { currentRules } from './rules/current.ts'
import { namesRules } from './rules/names.ts'
import { raceRules } from './rules/race.ts'
import { releaseRules } from './rules/release.ts'
import { renewRules } from './rules/renew.ts'
import { walkRules } from './rules/walk.ts'
import { watchRules } from './rules/watch.ts'

export type { StoreHarness } from './harness.ts'

const RULES: Readonly<Record<string, readonly Rule[]>> = {
  acquire: acquireRules,
  above: aboveRules,
  renew: renewRules,
  release: releaseRules,
  current: currentRules,
  names: namesRules,
  bounds: boundsRules,
  races: raceRules,
  'a random walk': walkRules,
}

const RULE_TIMEOUT_MS = 60_000

/** Runs the whole contract against the store that `make` reaches. `make` is called once. */
export function describeStore(
  name: string,
  make: () => Promise<StoreHarness>,
  options: { readonly skip?: string | false } = {},
): void {
  describe(`conformance: ${name}`, { skip: options.skip ?? false }, () => {
    let harness: StoreHarness | undefined
    before(async () => {
      harness = await make()
    })
    after(() => harness?.close())

    const check = async (rule: Rule): Promise<void> => {
      if (harness === undefined) throw new Error(`the harness of ${name} was not made`)
      const bench = new Bench(harness)
      try {
        await rule[1](bench)
      } finally {
        await bench.close()
      }
    }

    for (const [group, rules] of Object.entries(RULES)) {
      describe(group, () => {
        for (const rule of rules) it(rule[0], { timeout: RULE_TIMEOUT_MS }, () => check(rule))
      })
    }
    describe('watch', () => {
      for (const rule of watchRules) {
        it(rule[0], { timeout: RULE_TIMEOUT_MS }, async (test) => {
          if (harness?.supportsWatch === false) test.skip(`${name} has no watch: followers poll`)
          else await check(rule)
        })
      }
    })
  })
}
