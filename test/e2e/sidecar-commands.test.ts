/** The commands that ask a sidecar, against real ones. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { tenure } from '../support/command.ts'
import { withFleet } from '../support/fleet.ts'
import { freePort } from '../support/postgres.ts'
import { type SidecarProcess, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TEST_TIMEOUT_MS = 40_000

const folder = tempFolder()
after(() => folder.remove())
const flags = ['--store', `sqlite:${join(folder.path, 'tenure.db')}`, '--ttl', '3s']

const at = (one: SidecarProcess) => ['--listen', `127.0.0.1:${one.port}`]

test('status, wait, history and resign tell the truth about real sidecars, and exit accordingly', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  await withFleet(t, { args: flags, size: 2 }, async (fleet) => {
    const { by: first, answer } = await fleet.leader()
    const [second] = fleet.others(first)
    assert.ok(second !== undefined)
    await until('the follower has seen the leader', async () =>
      (await second.report())?.current?.holder === first.identity ? true : null,
    )

    const [leads, follows] = await Promise.all([
      tenure(['status', ...at(first)]),
      tenure(['status', ...at(second), '--json']),
    ])
    assert.equal(leads.code, 0, leads.stderr)
    assert.match(
      leads.stdout,
      new RegExp(`^leader +${first.identity} \\(this instance\\), under generation 1`, 'm'),
    )
    assert.equal(follows.code, 3, follows.stderr)
    assert.equal(JSON.parse(follows.stdout).current.holder, first.identity)

    const [ready, leader, notYet] = await Promise.all([
      tenure(['wait', '--ready', ...at(second)]),
      tenure(['wait', '--leader', ...at(first)]),
      tenure(['wait', '--leader', '--timeout', '300ms', ...at(second)]),
    ])
    assert.deepEqual([ready.code, leader.code, notYet.code], [0, 0, 124])
    assert.match(notYet.stderr, /the time is up: this instance is following/)

    const waiting = tenure(['wait', '--leader', '--timeout', '20s', ...at(second)])
    await until('it waits', async () => {
      const metrics = await second.ask('/metrics')
      return /tenure_http_subscribers\{[^}]*long_poll[^}]*\} 1/.test(metrics?.body ?? '') ? true : null
    })
    const resigned = await tenure(['resign', '--hold-off', '30s', ...at(first)])
    assert.equal(resigned.code, 0, resigned.stderr)
    assert.equal(resigned.stdout, 'resigned: generation 1 ends here\n')
    assert.equal((await waiting).code, 0)
    assert.equal((await tenure(['status', ...at(first)])).code, 3)

    const history = await tenure(['history', '--json', ...at(first)])
    assert.equal(history.code, 0)
    const tenures: { holder: string; generation: number; reason: string | null }[] = JSON.parse(
      history.stdout,
    ).tenures
    assert.deepEqual(
      tenures.map(({ holder, generation, reason }) => [holder, generation, reason]),
      [
        [first.identity, answer.generation, 'resigned'],
        [second.identity, 2, null],
      ],
    )
    const shown = await tenure(['history', ...at(first)])
    assert.match(shown.stdout, new RegExp(`^2 +${second.identity} .* now `, 'm'))
  })
})

test('without a sidecar a command ends with 1 and names --listen; wait ends with 124', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const nobody = ['--listen', `127.0.0.1:${await freePort()}`]
  const [status, wait] = await Promise.all([
    tenure(['status', ...nobody]),
    tenure(['wait', '--ready', '--timeout', '500ms', ...nobody]),
  ])
  assert.equal(status.code, 1)
  assert.match(status.stderr, /no sidecar answers on .*--listen/)
  assert.equal(wait.code, 124)
})

test('a store that cannot be reached: status exits with 4, and migrate with 4', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const url = `postgres://somebody:hush@127.0.0.1:${await freePort()}/app?sslmode=disable`
  await withFleet(t, { args: ['--store', url, '--ttl', '3s'], size: 1 }, async (fleet) => {
    const [one] = fleet.members
    assert.ok(one !== undefined)
    await until('it knows', async () => (await one.report())?.store.error ?? null)
    const [status, migrate] = await Promise.all([
      tenure(['status', ...at(one)]),
      tenure(['migrate', '--store', url]),
    ])
    assert.equal(status.code, 4, status.stdout)
    assert.match(status.stdout, /^store error +unavailable: /m)
    assert.equal(migrate.code, 4, migrate.stderr)
    for (const text of [status.stdout, migrate.stderr, JSON.stringify(one.log)])
      assert.doesNotMatch(text, /hush/)
  })
})
