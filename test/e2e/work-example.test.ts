/** The commands of the escalation example, called wrongly: they need no database to say so. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '../support/sidecar.ts'

const KILL_AFTER_MS = 20_000
const NOWHERE = 'postgres://postgres@127.0.0.1:1/none'

function call(command: string, flags: readonly string[], databaseUrl = NOWHERE) {
  const program = fileURLToPath(new URL(`../../examples/escalation/${command}`, import.meta.url))
  return spawnSync(process.execPath, ['--conditions=tenure-source', program, ...flags], {
    env: cleanEnvironment({ DATABASE_URL: databaseUrl }),
    encoding: 'utf8',
    timeout: KILL_AFTER_MS,
  })
}

for (const [command, wrong] of [
  ['run.ts', ['--lease-ms', 'long']],
  ['unknown.ts', ['--older-than-ms', '']],
] as const) {
  test(`${command} shows its usage when asked`, () => {
    const { status, stdout, stderr } = call(command, ['--help'], '')
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, new RegExp(`^usage: DATABASE_URL=\\S+ ${command} `))
  })

  test(`${command} answers a wrong flag with the fault and its usage, and no stack`, () => {
    for (const flags of [['--nope'], wrong]) {
      const { status, stderr } = call(command, flags)
      assert.equal(status, 2, stderr)
      assert.match(stderr, /^.*--.*\nusage: .*\n$/)
    }
  })

  test(`${command} without a database says what to set`, () => {
    const { status, stderr } = call(command, [], '')
    assert.equal(status, 2)
    assert.match(stderr, /^DATABASE_URL is not set: set it, .*\n$/)
  })
}
