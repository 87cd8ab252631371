import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MUTANTS } from './mutants.ts'
import { campaign, tellBreach } from './run.ts'
import { simulate } from './simulate.ts'

const SEEDS = 400
/** Within how many seeds each planted bug has to show. */
const SEEDS_FOR_A_BUG = 400

const root = fileURLToPath(new URL('../..', import.meta.url))

test(`every guarantee holds in ${SEEDS} simulated worlds`, async () => {
  const from = 1 + Math.floor(Math.random() * 1e9)
  const { breaches, tenures, answers } = await campaign(from, SEEDS)
  assert.equal(breaches.length, 0, breaches.map(tellBreach).join('\n'))
  // A world in which nobody leads breaks nothing, and proves nothing.
  assert.ok(tenures > 3 * SEEDS, `only ${tenures} tenures (seeds ${from}+${SEEDS})`)
  assert.ok(answers > 30 * SEEDS, `only ${answers} answers "leading" (seeds ${from}+${SEEDS})`)
})

test('the same seed tells the same story', async () => {
  const [first, second] = [await simulate(4711), await simulate(4711)]
  assert.deepEqual(first.story, second.story)
  assert.ok(first.story.length > 50)
})

for (const { name } of MUTANTS) {
  test(`the simulator catches the planted bug: ${name}`, async () => {
    const args = [
      '--import',
      './test/simulation/plant.ts',
      './test/simulation/run.ts',
      '--seeds',
      `${SEEDS_FOR_A_BUG}`,
    ]
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, PLANTED_BUG: name },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'exit')
    const [told, complaints] = await Promise.all([text(child.stdout), text(child.stderr)])
    await ended
    assert.match(
      told,
      /^seed \d+: G\d: /,
      `not caught within ${SEEDS_FOR_A_BUG} seeds\n${told.slice(0, 500)}\n${complaints}`,
    )
    assert.match(told, /BREACH G\d/, 'the seed that fails tells its story')
    assert.equal(child.exitCode, 1)
  })
}
