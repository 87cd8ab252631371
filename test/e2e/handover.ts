/** How hands change between real processes on one store: the same rules for every store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Fleet, withFleet } from '../support/fleet.ts'
import { type Leadership, type SidecarProcess, until } from '../support/sidecar.ts'
import { INTERFERENCES } from './interferences.ts'

export interface Limits {
  /** Short, and long enough for a machine that has other things to do. */
  readonly ttlMs: number
  /** From `drained` to a successor. */
  readonly wakeUpMs: number
  /** What the store's own server, started on the same machine, may add to that. Default 0. */
  readonly serverMs?: number
  /** Where an expiry is judged by observation: how late a live candidate may first see a record. Default 0. */
  readonly seenLateMs?: number
}

/** What the sidecars on a store need beside its URL. */
export interface Surroundings {
  /** Of each sidecar. */
  readonly environment?: () => Promise<NodeJS.ProcessEnv>
  readonly skip?: string | false
}

/** A crash is noticed by its expiry; then somebody leads within this. */
const AFTER_EXPIRY_MS = 1_000
/** All of a shutdown, promise included. */
const SHUTDOWN_MS = 1_500
/** What starting to look, and a busy machine, may add to a measured bound of a process's own end. */
const SLACK_MS = 250
/** A follower holds nothing back. */
const FOLLOWER_SHUTDOWN_MS = 500
const TEST_TIMEOUT_MS = 60_000
const FROZEN_QUESTIONS = 5
const HANDOVERS = 5

/** Registers the rules for one store. `makeStoreUrl` is asked once for each test. */
export function describeHandover(
  storeName: string,
  makeStoreUrl: () => Promise<string>,
  limits: Limits,
  { environment = async () => ({}), skip = false }: Surroundings = {},
): void {
  const { ttlMs, wakeUpMs, serverMs = 0, seenLateMs = 0 } = limits
  const crashMs = ttlMs + seenLateMs + AFTER_EXPIRY_MS
  const promiseMs = Math.min(1_000, Math.floor(ttlMs / 2))

  const rule = (
    name: string,
    body: (fleet: Fleet, t: TestContext) => Promise<void>,
    { flags = [], ...more }: { flags?: readonly string[]; size?: number; cold?: boolean } = {},
  ): void => {
    test(name, { timeout: TEST_TIMEOUT_MS, skip }, async (t) => {
      const args = ['--store', await makeStoreUrl(), '--ttl', `${ttlMs}ms`, ...flags]
      await withFleet(t, { args, environment, ...more }, (fleet) => body(fleet, t))
    })
  }

  describe(`three processes on one ${storeName} store`, () => {
    rule('exactly one leads, and the others name it and own nothing', async (fleet) => {
      const { answer } = await fleet.leader()
      await fleet.watcher.next(({ answeredMs }) => answeredMs - fleetStart(fleet) > 1.5 * ttlMs)
      assert.equal(fleet.watcher.tenures.length, 1, fleet.watcher.story())
      for (const other of fleet.members.filter(({ identity }) => identity !== answer.identity)) {
        const told = await other.leadership()
        assert.ok(told !== null && !told.leading && told.state === 'following')
        assert.deepEqual([told.generation, told.session, told.validForMs], [null, null, 0])
        assert.equal(told.current?.holder, answer.identity)
        assert.equal(told.current?.generation, answer.generation)
      }
    })

    rule(
      'the leader is killed: another leads by the expiry and 1 s, under a higher generation',
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        by.kill('SIGKILL')
        const killedMs = performance.now()
        const next = await fleet.watcher.above(generationOf(answer))
        assertWithin(next.answeredMs - killedMs, crashMs)
      },
    )

    rule('the leader is told to end, with nothing to drain: another leads within 1.5 s', async (fleet) => {
      const { by, answer } = await fleet.leader()
      by.kill('SIGTERM')
      const toldMs = performance.now()
      const [next, code] = await Promise.all([fleet.watcher.above(generationOf(answer)), by.exited()])
      assertWithin(next.answeredMs - toldMs, SHUTDOWN_MS)
      assert.equal(code, 0)
    })

    rule(
      `"drained": another leads within ${wakeUpMs} ms`,
      async (fleet, t) => {
        const tookMs: number[] = []
        while (tookMs.length < HANDOVERS) {
          const { by, answer } = await fleet.leader()
          const ms = await drainedToSuccessor(fleet, by, generationOf(answer))
          if (ms !== null) tookMs.push(ms)
        }
        t.diagnostic(`drained to successor: ${tookMs.map((ms) => `${ms.toFixed(0)} ms`).join(', ')}`)
        assertWithin(median(tookMs), wakeUpMs + serverMs)
      },
      // An application says it once, to a sidecar that was only polled until then.
      { cold: true },
    )

    rule(
      'a leader that stood still for two ttl does not lead in its first answer, and another does meanwhile',
      async (fleet) => {
        const { by: frozen, answer } = await fleet.leader()
        await frozen.freeze()
        const frozenMs = performance.now()
        const wait = 3 * ttlMs + 5_000
        const questions = Array.from({ length: FROZEN_QUESTIONS }, () => frozen.timed({ timeoutMs: wait }))
        const next = await fleet.watcher.above(generationOf(answer))
        assert.notEqual(next.by, frozen)
        await fleet.watcher.next(({ answeredMs }) => answeredMs - frozenMs > 2 * ttlMs)
        frozen.thaw()
        for (const told of await Promise.all(questions)) {
          assert.equal(told?.answer.leading, false)
          assert.equal(told.answer.generation, null)
        }
        const wokenMs = performance.now()
        const after = await fleet.watcher.next(({ answeredMs }) => answeredMs - wokenMs > ttlMs)
        assert.equal(
          after.answer.generation,
          next.answer.generation,
          'the one that woke disturbed its successor',
        )
        assert.ok(
          frozen.log.some(({ event }) => event === 'paused'),
          'the pause is not in the log',
        )
      },
    )
  })

  describe(`a promise on ${storeName} is kept`, () => {
    for (const { name, meanwhile } of INTERFERENCES) {
      rule(
        `whatever is called meanwhile: ${name}`,
        async (fleet) => {
          const { by } = await fleet.leader()
          const promised = await by.timed()
          assert.ok(promised?.answer.leading && promised.answer.validForMs !== null)
          const generation = generationOf(promised.answer)
          const untilMs = promised.sentMs + promised.answer.validForMs
          assert.ok(promised.answer.validForMs > promiseMs / 2, 'too short a promise to be worth a test')
          await meanwhile(by, generation)
          const next = await fleet.watcher.above(generation)
          assert.ok(
            next.answeredMs >= untilMs,
            `${next.by.identity} leads ${(untilMs - next.answeredMs).toFixed(1)} ms inside the promise`,
          )
        },
        { flags: ['--promise', `${promiseMs}ms`, '--hold-off', '50ms'], size: 2 },
      )
    }
  })

  describe(`a drain on ${storeName}`, () => {
    rule(
      'keeps the lease until the application says "drained", and then ends with 0',
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        const generation = generationOf(answer)
        by.kill('SIGTERM')
        const told = await drainingOf(by)
        assert.deepEqual([told.leading, told.generation, told.validForMs], [false, null, 0])
        assert.equal(told.draining?.generation, generation)
        await assertNobodyLeads(fleet, by, 1.5 * ttlMs)
        const stale = await by.post('/v1/drained', { generation: generation + 1 })
        assert.equal(stale?.status, 409)
        const tookMs = await drainedToSuccessor(fleet, by, generation)
        assert.ok(tookMs !== null, 'it was not taken note of')
        assertWithin(tookMs, wakeUpMs + serverMs)
        assert.equal(await by.exited(), 0)
      },
      { flags: ['--drain', '20s'] },
    )

    rule(
      'that ends without "drained" releases nothing: the successor comes by the expiry, and the exit code is 0',
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        by.kill('SIGTERM')
        const askedMs = performance.now()
        const { draining } = await drainingOf(by)
        assert.ok(draining !== null && draining.leaseRemainingMs > 0)
        const next = fleet.watcher.above(generationOf(answer))
        assert.equal(await by.exited(), 0)
        assert.ok((await next).answeredMs >= askedMs + draining.leaseRemainingMs, 'the lease was released')
        const logged = by.log.map(({ event }) => event)
        assert.ok(logged.includes('draining') && !logged.includes('drained'), logged.join())
      },
      { flags: ['--drain', '100ms'] },
    )

    rule(
      'a second signal ends at once, and nothing is released',
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        by.kill('SIGTERM')
        const askedMs = performance.now()
        const { draining } = await drainingOf(by)
        assert.ok(draining !== null)
        by.kill('SIGINT')
        const secondMs = performance.now()
        const next = fleet.watcher.above(generationOf(answer))
        assert.equal(await by.exited(), 0)
        assertWithin(performance.now() - secondMs, FOLLOWER_SHUTDOWN_MS + SLACK_MS)
        assert.ok((await next).answeredMs >= askedMs + draining.leaseRemainingMs, 'the lease was released')
      },
      { flags: ['--drain', '20s'], size: 2 },
    )
  })

  describe(`resigning and ending on ${storeName}`, () => {
    rule(
      'who resigned does not stand for its hold-off, also when nobody else does',
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        const holdOffMs = ttlMs
        const askedMs = performance.now()
        const resigned = await by.post('/v1/resign', { holdOff: `${holdOffMs}ms` })
        assert.deepEqual(JSON.parse(resigned?.body ?? ''), {
          election: fleet.election,
          generation: generationOf(answer),
        })
        const next = await fleet.watcher.above(generationOf(answer))
        assert.ok(next.answeredMs - askedMs >= holdOffMs, 'it stood within its hold-off')
        assertWithin(next.answeredMs - askedMs, holdOffMs + ttlMs + AFTER_EXPIRY_MS)
      },
      { size: 1 },
    )

    rule(
      'a hold-off is ended by the tenure of another',
      async (fleet) => {
        const { by, answer } = await fleet.leader()
        await by.post('/v1/resign', { holdOff: '1h' })
        const next = await fleet.watcher.above(generationOf(answer))
        assert.notEqual(next.by, by)
        await sees(by, next.by)
        next.by.kill('SIGKILL')
        const again = await fleet.watcher.above(generationOf(next.answer), crashMs + SLACK_MS)
        assert.equal(again.by, by)
      },
      { size: 2 },
    )

    rule(
      'a leader ends within 1.5 s, its promise included, and a follower almost at once',
      async (fleet) => {
        const { by } = await fleet.leader()
        const [follower] = fleet.others(by)
        assert.ok(follower !== undefined)
        // What it learns now would end its long poll.
        await sees(follower, by)
        const readers = ['/v1/events', '/v1/leadership?after=REVISION&wait=60s']
        for (const one of [by, follower]) await keepReading(one, readers)
        assertWithin(await endedWithin(follower), FOLLOWER_SHUTDOWN_MS)
        const promised = await by.leadership()
        assert.ok(promised?.leading)
        assertWithin(await endedWithin(by), SHUTDOWN_MS + SLACK_MS)
      },
      { flags: ['--promise', `${promiseMs}ms`] },
    )
  })
}

function generationOf({ generation }: Leadership): number {
  assert.ok(generation !== null)
  return generation
}

function assertWithin(tookMs: number, mostMs: number): void {
  assert.ok(tookMs <= mostMs, `took ${tookMs.toFixed(0)} ms, more than ${mostMs} ms`)
}

/**
 * Says "drained" for a tenure, and returns how long it took until the answer of a successor was read; null where
 * the tenure had ended before, on a machine too busy for it.
 */
async function drainedToSuccessor(
  fleet: Fleet,
  by: SidecarProcess,
  generation: number,
): Promise<number | null> {
  const next = fleet.watcher.above(generation)
  const sentMs = performance.now()
  const taken = await by.post('/v1/drained', { generation })
  const { answeredMs } = await next
  if (taken?.status === 409) return null
  assert.equal(taken?.status, 200, taken?.body)
  fleet.watcher.waive(generation, sentMs)
  return answeredMs - sentMs
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

async function sees(one: SidecarProcess, holder: SidecarProcess): Promise<void> {
  const holds = async () => (await one.report())?.current?.holder === holder.identity
  await until(`${one.identity} sees ${holder.identity}`, async () => ((await holds()) ? true : null))
}

/** The first answer that says "draining". */
function drainingOf(sidecar: SidecarProcess): Promise<Leadership> {
  return until(`${sidecar.identity} drains`, async () => {
    const answer = await sidecar.leadership()
    return answer?.state === 'draining' ? answer : null
  })
}

/** Watches for this long that nobody leads while one drains. */
async function assertNobodyLeads(fleet: Fleet, draining: SidecarProcess, forMs: number): Promise<void> {
  const fromMs = performance.now()
  const before = fleet.watcher.leading.length
  await until(`${forMs} ms go by`, async () => {
    const answer = await draining.leadership()
    assert.equal(answer?.state, 'draining')
    assert.ok(answer.draining !== null && answer.draining.leaseRemainingMs > 0)
    return performance.now() - fromMs > forMs ? true : null
  })
  const led = fleet.watcher.leading.slice(before).filter(({ sentMs }) => sentMs > fromMs)
  assert.deepEqual(
    led.map(({ by }) => by.identity),
    [],
  )
}

/** Opens streams and long polls that last, and waits until the sidecar counts them. */
async function keepReading(sidecar: SidecarProcess, paths: readonly string[]): Promise<void> {
  const revision = (await sidecar.report())?.revision ?? ''
  for (const path of paths) {
    void sidecar.ask(path.replace('REVISION', revision), { timeoutMs: TEST_TIMEOUT_MS })
  }
  await until('they are read', async () => {
    const metrics = (await sidecar.ask('/metrics'))?.body ?? ''
    return metrics.match(/^tenure_http_subscribers\{.*\} 1$/gm)?.length === paths.length ? true : null
  })
}

/** Tells a sidecar to end; how long it took. */
async function endedWithin(sidecar: SidecarProcess): Promise<number> {
  const fromMs = performance.now()
  sidecar.kill('SIGTERM')
  assert.equal(await sidecar.exited(), 0, sidecar.stderr)
  return performance.now() - fromMs
}

function fleetStart(fleet: Fleet): number {
  return fleet.watcher.leading[0]?.answeredMs ?? 0
}
