import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { runCommandLine } from '../../src/cli/cli.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { Ended } from '../support/command.ts'
import { withFleet } from '../support/fleet.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'
import { type Answer, type Asked, leadership, leads, StandIn } from '../support/stand-in.ts'
import { tempFolder } from '../support/temp.ts'

const TTL_MS = 3_000
/** All of a shutdown once nothing is left to wait for, promise included. */
const SHUTDOWN_MS = 1_500
const FOLLOWER_SHUTDOWN_MS = 500
const SLACK_MS = 250
const TEST_TIMEOUT_MS = 30_000

function storeOf(t: TestContext): string {
  const folder = tempFolder()
  t.after(() => folder.remove())
  return `sqlite:${join(folder.path, 'tenure.db')}`
}

/** A sidecar of its own store that leads. */
async function leader(t: TestContext, ...flags: readonly string[]) {
  const started = await sidecar(t, 'web-1', ['--store', storeOf(t), '--ttl', `${TTL_MS}ms`, ...flags])
  const { generation } = await started.leads()
  return { started, generation: generation ?? 0 }
}

/** The command, in this process. */
async function drainAt(listen: string, ...flags: readonly string[]): Promise<Ended> {
  const told = { stdout: '', stderr: '' }
  const code = await runCommandLine(['drain', '--listen', listen, ...flags], {
    stdout: { write: (text) => (told.stdout += text) },
    stderr: { write: (text) => (told.stderr += text) },
    environment: {},
    clock: systemClock(),
  })
  return { code, ...told }
}

function drain({ port }: SidecarProcess, ...flags: readonly string[]): Promise<Ended> {
  return drainAt(`127.0.0.1:${port}`, ...flags)
}

/** Waits until a sidecar is draining, by reports: they do not count as the application asking. */
function drains(one: SidecarProcess): Promise<unknown> {
  return until(`${one.identity} drains`, async () => ((await one.report())?.draining ? true : null))
}

/** A sidecar that resigned generation 8 is asked how it stands: `answers`, one after the other. */
async function resigned(
  t: TestContext,
  answers: readonly Answer[],
): Promise<{ listen: string; server: StandIn }> {
  const left = [...answers]
  const server = new StandIn(({ method, url }: Asked): Answer => {
    if (method === 'POST') return { body: { election: 'default', generation: 8 } }
    if (url.pathname === '/readyz') return { body: { ok: true, checks: [{ name: 'store:default' }] } }
    return left.shift() ?? { body: leads() }
  })
  t.after(() => server.stop())
  return { listen: await server.start(), server }
}

const draining8 = { ...leadership({ state: 'draining', draining: { generation: 8, leaseRemainingMs: 900 } }) }

// They mostly wait, each for its own sidecars.
describe('tenure drain', { concurrency: 4 }, () => {
  test('drain returns with 0 once the lease is given back: after "drained", and not before', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    await withFleet(
      t,
      { args: ['--store', storeOf(t), '--ttl', `${TTL_MS}ms`, '--drain', '20s'], size: 2 },
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        const generation = answer.generation ?? 0
        let ended = false
        const draining = drain(by).finally(() => {
          ended = true
        })
        await drains(by)
        // Longer than the lease without renewals: it goes on being renewed, and the command goes on waiting.
        const fromMs = performance.now()
        await until('a ttl goes by', async () => {
          assert.equal((await by.report())?.draining?.generation, generation)
          return performance.now() - fromMs > TTL_MS ? true : null
        })
        assert.equal(ended, false, 'it did not wait for the application')
        const next = fleet.watcher.above(generation)
        const saidMs = performance.now()
        assert.equal((await by.post('/v1/drained', { generation }))?.status, 200)
        const [{ code, stdout }, { by: successor }] = await Promise.all([draining, next])
        fleet.watcher.waive(generation, saidMs)
        assert.equal(code, 0)
        assert.match(
          stdout,
          new RegExp(`^${fleet.election}: generation ${generation} has ended \\(drained\\)$`, 'm'),
        )
        assert.notEqual(successor, by)
      },
    )
  })

  test('with nothing to drain it keeps the promise, then gives the lease back', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    await withFleet(
      t,
      { args: ['--store', storeOf(t), '--ttl', `${TTL_MS}ms`, '--promise', '1s'], size: 2 },
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        const next = fleet.watcher.above(answer.generation ?? 0)
        const { code } = await drain(by)
        assert.equal(code, 0)
        assert.equal((await by.report())?.reason, 'resigned')
        await next
      },
    )
  })

  test('a drain that lapsed is said so, and exits with 124', { timeout: TEST_TIMEOUT_MS }, async (t) => {
    const { started, generation } = await leader(t, '--drain', '300ms')
    const { code, stderr } = await drain(started)
    assert.equal(code, 124)
    assert.match(
      stderr,
      new RegExp(`generation ${generation} was not given back and runs out by itself \\(lapsed\\)`),
    )
    assert.match(stderr, /did not say "drained"/)
  })

  test('when the time is up it exits with 124, says what is still held, and the drain goes on', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const { started, generation } = await leader(t, '--drain', '20s')
    const { code, stderr } = await drain(started, '--timeout', '300ms')
    assert.equal(code, 124)
    assert.match(stderr, new RegExp(`the time is up and generation ${generation} is still held`))
    assert.equal((await started.report())?.draining?.generation, generation)
    const again = drain(started)
    await started.post('/v1/drained', { generation })
    assert.equal((await again).code, 0)
  })

  test('who did not lead, and an observer, end at once with 0', { timeout: TEST_TIMEOUT_MS }, async (t) => {
    const store = storeOf(t)
    const flags = ['--store', store, '--ttl', `${TTL_MS}ms`]
    const one = await sidecar(t, 'web-1', flags)
    await one.leads()
    for (const more of [[], ['--observer']]) {
      const other = await sidecar(t, 'web-2', [...flags, ...more])
      const { code, stdout, stderr } = await drain(other)
      assert.equal(code, 0, stderr)
      assert.match(stdout, /did not lead here/)
    }
    assert.equal((await one.leadership())?.leading, true)
  })

  test('it drains every election of the sidecar, or the one that is named', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const flags = ['--store', storeOf(t), '--ttl', `${TTL_MS}ms`, '--election', 'a', '--election', 'b']
    const one = await sidecar(t, 'web-1', flags)
    await one.leads(undefined, 'a')
    await one.leads(undefined, 'b')
    const named = await drain(one, '--election', 'a')
    assert.equal(named.code, 0, named.stderr)
    assert.equal((await one.leadership('b'))?.leading, true)
    const all = await drain(one)
    assert.equal(all.code, 0, all.stderr)
    assert.match(all.stdout, /^a: did not lead here.*\nb: generation 1 has ended \(resigned\)\n$/)
    assert.equal((await one.leadership('b'))?.leading, false)
  })

  test('SIGTERM during a drain changes nothing but the end: it waits for "drained", and exits with 0 at once', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    await withFleet(
      t,
      { args: ['--store', storeOf(t), '--ttl', `${TTL_MS}ms`, '--drain', '20s'], size: 2 },
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        const generation = answer.generation ?? 0
        const draining = drain(by)
        await drains(by)
        by.kill('SIGTERM')
        await until('it is told to end', () => by.log.find(({ event }) => event === 'shutdown') ?? null)
        assert.equal((await by.report())?.draining?.generation, generation)
        const next = fleet.watcher.above(generation)
        const saidMs = performance.now()
        await by.post('/v1/drained', { generation })
        assert.equal(await by.exited(), 0)
        const tookMs = performance.now() - saidMs
        assert.ok(tookMs <= SHUTDOWN_MS + SLACK_MS, `took ${tookMs.toFixed(0)} ms`)
        fleet.watcher.waive(generation, saidMs)
        await next
        const { code, stdout, stderr } = await draining
        assert.equal(code, 0, stderr)
        assert.match(stdout, /has ended \(shutdown\)/)
      },
    )
  })

  test('SIGTERM right after a drain ends the sidecar at once with 0', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const { started } = await leader(t)
    assert.equal((await drain(started)).code, 0)
    const fromMs = performance.now()
    started.kill('SIGTERM')
    assert.equal(await started.exited(), 0)
    const tookMs = performance.now() - fromMs
    assert.ok(tookMs <= FOLLOWER_SHUTDOWN_MS + SLACK_MS, `took ${tookMs.toFixed(0)} ms`)
  })

  for (const when of ['before', 'meanwhile'] as const) {
    test(`a sidecar that is frozen ${when} is not waited for beyond the time, and not taken for one that ended`, async (t) => {
      const { started } = await leader(t, '--drain', '20s')
      if (when === 'before') await started.freeze()
      const fromMs = performance.now()
      const draining = drain(started, '--timeout', '2s')
      if (when === 'meanwhile') {
        await drains(started)
        await started.freeze()
      }
      const { code, stderr } = await draining
      assert.equal(code, 124)
      assert.match(stderr, /the sidecar does not answer: it may be frozen/)
      assert.ok(performance.now() - fromMs < 6_000)
    })
  }

  test('a sidecar that is killed meanwhile is a fault, and is not waited for until the time is up', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const { started } = await leader(t, '--drain', '20s')
    const draining = drain(started)
    await drains(started)
    const fromMs = performance.now()
    started.kill('SIGKILL')
    const { code, stderr } = await draining
    assert.equal(code, 1)
    assert.match(stderr, /the sidecar ended before it said that generation 1 was given back/)
    assert.ok(performance.now() - fromMs < 5_000)
  })

  test('without a sidecar it says so and exits with 1', async () => {
    const { code, stderr } = await drainAt('127.0.0.1:1')
    assert.equal(code, 1)
    assert.match(stderr, /no sidecar answers/)
  })

  test('it holds off for a day, and waits by long polls that promise nothing', async (t) => {
    const gone = { body: leadership({ reason: 'resigned', revision: 'r2' }) }
    const { listen, server } = await resigned(t, [{ body: draining8 }, gone])
    assert.equal((await drainAt(listen)).code, 0)
    assert.equal(server.asked.find(({ method }) => method === 'POST')?.body, '{"holdOff":"24h"}')
    const polls = server.asked.filter(({ url }) => url.pathname === '/v1/leadership')
    assert.deepEqual(
      polls.map(({ url }) => url.searchParams.get('after')),
      ['none', 'r1'],
    )
  })

  test('a sidecar that was started anew meanwhile knows nothing of the drain: that is a fault, whoever leads', async (t) => {
    const before = { body: { ...draining8, revision: 'aaaaaaaa-3' } }
    const after = { body: leadership({ reason: 'started', revision: 'bbbbbbbb-0' }) }
    const { listen } = await resigned(t, [before, after])
    const { code, stderr } = await drainAt(listen)
    assert.equal(code, 1)
    assert.match(stderr, /the sidecar ended before it said/)
  })

  test('a sidecar that is too busy for a long poll is asked again', async (t) => {
    const busy = { status: 503, body: { error: { code: 'full', message: 'too many wait already' } } }
    const gone = { body: leadership({ reason: 'resigned', revision: 'r2' }) }
    const { listen } = await resigned(t, [{ body: draining8 }, busy, { body: draining8 }, 'hang up', gone])
    assert.equal((await drainAt(listen)).code, 0)
  })

  test('a store that did not take the release is named', async (t) => {
    const error = { kind: 'unavailable', message: 'connection refused' }
    const store = { kind: 'postgres', location: 'h/db', lastSuccessAgoMs: null, error }
    const lapsed = { body: leadership({ reason: 'lapsed', revision: 'r2', store }) }
    const { listen } = await resigned(t, [{ body: draining8 }, lapsed])
    const { code, stderr } = await drainAt(listen)
    assert.equal(code, 124)
    assert.match(stderr, /the store did not take it: connection refused/)
  })
})
