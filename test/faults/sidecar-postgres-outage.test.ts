/** What sidecars do while their PostgreSQL is away, silent, or out of reach. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { deriveTiming } from '../../src/election/timing.ts'
import { withFleet } from '../support/fleet.ts'
import { PostgresBench } from '../support/postgres-bench.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const TIMING = deriveTiming({ ttlMs: 3_000 })
/** For silences: the bounds of one attempt have to hold on a busy machine, too. */
const PATIENT = deriveTiming({ ttlMs: 4_800 })
const SILENCES = 6
/** Each costs an attempt, so they have to be further apart. */
const LOSSES = 4
const TEST_TIMEOUT_MS = 60_000
/** What a busy machine may add. */
const SLACK_MS = 400
const SHUTDOWN_MS = 1_500
const AFTER_EXPIRY_MS = 1_000

const bench = await PostgresBench.start()

async function proxied(): Promise<{ proxy: TcpProxy; url: string }> {
  const proxy = await TcpProxy.start(bench.server.port)
  after(() => proxy.close())
  return { proxy, url: `postgres://postgres@127.0.0.1:${proxy.port}/${bench.database}?sslmode=disable` }
}

const flags = (url: string, ttlMs: number) => ['--store', url, '--ttl', `${ttlMs}ms`]

async function errorOf(one: SidecarProcess): Promise<{ kind: string; message: string }> {
  return until(`${one.identity} reports a fault of the store`, async () => {
    const answer = await one.report()
    return answer?.store.error ?? null
  })
}

async function readiness(one: SidecarProcess): Promise<number | undefined> {
  return (await one.ask('/readyz'))?.status
}

async function renewedOnceMore(one: SidecarProcess): Promise<void> {
  const renewals = () => one.log.filter(({ event }) => event === 'renewed').length
  const before = renewals()
  await until('it renews', () => (renewals() > before ? true : null))
}

async function allReady(members: readonly SidecarProcess[]): Promise<void> {
  await until('all are ready', async () => {
    const ready = await Promise.all(members.map(readiness))
    return ready.every((status) => status === 200) ? true : null
  })
}

describe('silence for less than one attempt timeout, at any moment, ends no tenure:', () => {
  test('a server that stands still', { timeout: TEST_TIMEOUT_MS }, async (t) => {
    await withFleet(t, { args: flags(bench.url, PATIENT.ttlMs), size: 2 }, async (fleet) => {
      const { by, answer } = await fleet.leader()
      t.after(() => bench.server.resume())
      for (let i = 0; i < SILENCES; i++) {
        await bench.server.pause()
        await sleep(PATIENT.attemptTimeoutMs * 0.7)
        await bench.server.resume()
        // Not to wait for anything: so that the silences fall on different moments between two renewals.
        await sleep(PATIENT.renewEveryMs * 0.37)
      }
      assert.equal((await by.leadership())?.generation, answer.generation, fleet.watcher.story())
    })
  })

  test('a network that loses everything, connections included', { timeout: TEST_TIMEOUT_MS }, async (t) => {
    const { proxy, url } = await proxied()
    const args = [...flags(url, PATIENT.ttlMs), '--log-level', 'debug']
    await withFleet(t, { args, size: 2 }, async (fleet) => {
      const { by, answer } = await fleet.leader()
      for (let i = 0; i < LOSSES; i++) {
        // From one renewal on, which shows that the last silence was got over, to a later moment each time.
        await renewedOnceMore(by)
        await sleep((PATIENT.renewEveryMs * i) / LOSSES)
        proxy.mode = 'swallow'
        proxy.forgetOpen()
        await sleep(PATIENT.attemptTimeoutMs * 0.7)
        proxy.mode = 'pass'
      }
      await renewedOnceMore(by)
      assert.equal((await by.leadership())?.generation, answer.generation, fleet.watcher.story())
    })
  })
})

describe('a connection that went silent', () => {
  test('is told within an attempt timeout, ends the tenure in time, and is got over', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const { proxy, url } = await proxied()
    const args = [...flags(url, TIMING.ttlMs), '--log-level', 'debug']
    await withFleet(t, { args, size: 1 }, async (fleet) => {
      const { by, answer } = await fleet.leader()
      proxy.mode = 'swallow'
      const silentMs = performance.now()
      const error = await errorOf(by)
      const toldMs = performance.now() - silentMs
      assert.equal(error.kind, 'unavailable')
      assert.match(error.message, /no answer within \d+ ms/)
      assert.ok(toldMs < TIMING.renewEveryMs + TIMING.attemptTimeoutMs + SLACK_MS, `${toldMs} ms`)
      const timeout = by.log.find(({ op, result }) => op === 'renew' && result === 'timeout')
      assert.ok((timeout?.durationMs ?? Number.NaN) < TIMING.attemptTimeoutMs + SLACK_MS)
      await until('the tenure ends', async () => ((await by.report())?.leading ? null : true))
      const last = fleet.watcher.leading.at(-1)
      assert.ok(last !== undefined)
      assert.ok(last.sentMs + (last.answer.validForMs ?? 0) <= silentMs + TIMING.ttlMs - TIMING.marginMs)
      assert.equal(await readiness(by), 200)
      proxy.mode = 'pass'
      await fleet.watcher.above(answer.generation ?? 0, TIMING.ttlMs + AFTER_EXPIRY_MS)
      await until('the fault is over', async () => ((await by.report())?.store.error === null ? true : null))
    })
  })

  test('does not keep a leader, nor a follower, from ending', { timeout: TEST_TIMEOUT_MS }, async (t) => {
    const { proxy, url } = await proxied()
    await withFleet(t, { args: flags(url, TIMING.ttlMs), size: 2 }, async (fleet) => {
      const { by } = await fleet.leader()
      await allReady(fleet.members)
      proxy.mode = 'swallow'
      await Promise.all(fleet.members.map(errorOf))
      for (const member of [by, ...fleet.others(by)]) {
        const fromMs = performance.now()
        member.kill('SIGTERM')
        assert.equal(await member.exited(), 0)
        const tookMs = performance.now() - fromMs
        assert.ok(tookMs < SHUTDOWN_MS + SLACK_MS, `${member.identity} took ${tookMs} ms`)
      }
    })
  })

  test('from the start: not ready, says so, and leads as soon as it is mended', {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const { proxy, url } = await proxied()
    proxy.mode = 'swallow'
    const one = await sidecar(t, 'early', [...flags(url, TIMING.ttlMs), '--election', 'early'])
    assert.equal((await errorOf(one)).kind, 'unavailable')
    assert.equal(await readiness(one), 503)
    assert.equal((await one.ask('/livez'))?.status, 200)
    proxy.mode = 'pass'
    await one.leads(TIMING.ttlMs + AFTER_EXPIRY_MS)
    assert.equal(await readiness(one), 200)
  })
})

// The last one: it leaves the server stopped where it fails.
test('PostgreSQL away for longer than the ttl: the leader stops in time, nobody exits, one leads again', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  await withFleet(t, { args: flags(bench.url, TIMING.ttlMs), size: 2 }, async (fleet) => {
    const { answer } = await fleet.leader()
    await allReady(fleet.members)
    await bench.server.stop()
    const awayMs = performance.now()
    const late = await fleet.add()
    assert.equal((await errorOf(late)).kind, 'unavailable')
    assert.equal(await readiness(late), 503, 'ready before the store ever answered')
    const mostMs = awayMs + TIMING.ttlMs - TIMING.marginMs
    await until('the ttl goes by', () => (performance.now() > awayMs + TIMING.ttlMs + SLACK_MS ? true : null))
    for (const { sentMs, answer: told } of fleet.watcher.leading) {
      assert.ok(sentMs + (told.validForMs ?? 0) <= mostMs, 'an answer was good beyond act-until')
    }
    for (const member of fleet.members) {
      const told = await member.report()
      assert.deepEqual([told?.leading, told?.store.error?.kind], [false, 'unavailable'], member.stderr)
      assert.equal(await readiness(member), member === late ? 503 : 200, 'an outage changes no readiness')
    }
    await bench.server.start()
    const backMs = performance.now()
    const next = await fleet.watcher.above(answer.generation ?? 0)
    assert.ok(next.answeredMs - backMs < TIMING.ttlMs + AFTER_EXPIRY_MS)
    await allReady(fleet.members)
    assert.deepEqual(
      fleet.members.map(({ ended }) => ended),
      [false, false, false],
    )
  })
})
