/** What sidecars do when their Kubernetes, their rights, their token or their Lease are taken from them. */
import assert from 'node:assert/strict'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { deriveTiming } from '../../src/election/timing.ts'
import { type Fleet, withFleet } from '../support/fleet.ts'
import { newElection, startUnless } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'

const TIMING = deriveTiming({ ttlMs: 3_000 })
/** An API server takes some seconds to start; all of them have to fit between two renewals. */
const PATIENT = deriveTiming({ ttlMs: 30_000 })
const TEST_TIMEOUT_MS = 90_000
const AFTER_EXPIRY_MS = 1_000
const HINT_MOST_MS = 200
/** What a busy machine may add. */
const SLACK_MS = 400
/** What a sidecar needs when it may not watch. */
const NO_WATCH = ['get', 'create', 'update']

const skip = skipReason()
const bench = await startUnless(skip)

const flags = (ttlMs: number) => [
  ...['--store', `kubernetes://${bench.namespace.name}`, '--ttl', `${ttlMs}ms`],
  ...['--log-level', 'debug'],
]

const environmentOf = async (account: string) => ({ KUBECONFIG: await bench.namespace.kubeconfig(account) })

function rule(
  name: string,
  { ttlMs = TIMING.ttlMs, account = async () => bench.account }: RuleSettings,
  body: (fleet: Fleet) => Promise<void>,
): void {
  test(name, { skip, timeout: TEST_TIMEOUT_MS }, async (t) => {
    const environment = async () => environmentOf(await account())
    await withFleet(t, { args: flags(ttlMs), size: 2, environment }, body)
  })
}

interface RuleSettings {
  readonly ttlMs?: number
  /** Of each member. */
  readonly account?: () => Promise<string>
}

async function errorOf(one: SidecarProcess, kind: string): Promise<string> {
  return until(`${one.identity} reports that its store is ${kind}`, async () => {
    const error = (await one.report())?.store.error ?? null
    return error?.kind === kind ? error.message : null
  })
}

async function recovered(one: SidecarProcess): Promise<void> {
  await until(`the store of ${one.identity} answers`, async () =>
    (await one.report())?.store.error === null ? true : null,
  )
}

const renewals = ({ log }: SidecarProcess): number => log.filter(({ event }) => event === 'renewed').length

async function renewedAgain(one: SidecarProcess): Promise<void> {
  const before = renewals(one)
  await until(`${one.identity} renews`, () => (renewals(one) > before ? true : null))
}

/** Watched from the start, as a follower that has only just begun to is woken by nothing yet. */
async function allSeeTheLeader(fleet: Fleet, leader: SidecarProcess): Promise<void> {
  for (const other of fleet.others(leader)) {
    await until(`${other.identity} sees the leader`, async () =>
      (await other.report())?.current?.holder === leader.identity ? true : null,
    )
  }
}

function assertStoppedBy(fleet: Fleet, atMs: number): void {
  for (const { sentMs, answer } of fleet.watcher.leading) {
    assert.ok(sentMs + (answer.validForMs ?? 0) <= atMs, `good beyond act-until: ${fleet.watcher.story()}`)
  }
}

describe('the API server', { skip }, () => {
  rule('that is restarted within a ttl ends no tenure', { ttlMs: PATIENT.ttlMs }, async (fleet) => {
    const { by, answer } = await fleet.leader()
    await bench.server.kill()
    const killedMs = performance.now()
    await bench.server.start()
    const awayMs = performance.now() - killedMs
    assert.ok(awayMs < PATIENT.renewEveryMs, `no test: the API server took ${awayMs} ms to start`)
    await renewedAgain(by)
    assert.equal((await by.leadership())?.generation, answer.generation, fleet.watcher.story())
    assert.equal(fleet.watcher.tenures.length, 1)
  })

  rule(
    'that stands still for longer than the ttl: the leader stops in time, and one leads again',
    {},
    async (fleet) => {
      const { by, answer } = await fleet.leader()
      await allSeeTheLeader(fleet, by)
      bench.server.pause()
      const pausedMs = performance.now()
      try {
        assert.match(await errorOf(by, 'unavailable'), /no answer within/)
        await until('the ttl goes by', () =>
          performance.now() > pausedMs + TIMING.ttlMs + SLACK_MS ? true : null,
        )
        for (const member of fleet.members) {
          assert.equal((await member.report())?.leading, false)
          assert.equal((await member.ask('/readyz'))?.status, 200, 'an outage changes no readiness')
        }
      } finally {
        bench.server.resume()
      }
      const backMs = performance.now()
      assertStoppedBy(fleet, pausedMs + TIMING.ttlMs - TIMING.marginMs)
      const next = await fleet.watcher.above(answer.generation ?? 0)
      assert.ok(next.answeredMs - backMs < TIMING.ttlMs + AFTER_EXPIRY_MS)
      for (const member of fleet.members) await recovered(member)
    },
  )
})

describe('rights and tokens', { skip }, () => {
  test('a leader whose rights are taken stops in time and says which; given back, it leads again', {
    skip,
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const accounts = new Map<string, string>()
    const environment = async () => {
      const account = await bench.namespace.createAccount()
      accounts.set(`candidate-${accounts.size + 1}`, account)
      return environmentOf(account)
    }
    await withFleet(t, { args: flags(TIMING.ttlMs), size: 1, environment }, async (fleet) => {
      const { by, answer } = await fleet.leader()
      const other = await fleet.add()
      await allSeeTheLeader(fleet, by)
      const account = accounts.get(by.identity) ?? ''
      await bench.namespace.setRules(account, [])
      const takenMs = performance.now()
      const next = fleet.watcher.above(answer.generation ?? 0)
      assert.match(await errorOf(by, 'denied'), /add the rule .*verbs: \["update"\]/)
      assert.equal((await next).by, other)
      assert.ok((await next).answeredMs - takenMs < TIMING.ttlMs + AFTER_EXPIRY_MS)
      assert.equal(by.log.find(({ event }) => event === 'deadline')?.generation, answer.generation)
      await bench.namespace.setRules(account, [{ verbs: ['get', 'create', 'update', 'watch'] }])
      await recovered(by)
      other.kill('SIGTERM')
      assert.equal((await fleet.watcher.above((await next).answer.generation ?? 0)).by, by)
    })
  })

  test('a token that was replaced, and the old one revoked, costs a leader nothing', {
    skip,
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const tokenFile = join(bench.server.home, newElection())
    const old = await bench.namespace.createToken(bench.account)
    await writeFile(tokenFile, old.token)
    const KUBECONFIG = await bench.namespace.kubeconfig(bench.account, { user: { tokenFile } })
    const settings = { args: flags(TIMING.ttlMs), size: 2, environment: async () => ({ KUBECONFIG }) }
    await withFleet(t, settings, async (fleet) => {
      const { by, answer } = await fleet.leader()
      await writeFile(`${tokenFile}.new`, (await bench.namespace.createToken(bench.account)).token)
      await rename(`${tokenFile}.new`, tokenFile)
      await old.revoke()
      const lease = bench.namespace.leasePath(fleet.election)
      // The server remembers for some seconds that it took the old one.
      await until('the old token is refused', async () => {
        const { status } = await bench.server.request('GET', lease, undefined, old.token)
        return status === 401 ? true : null
      })
      await renewedAgain(by)
      await renewedAgain(by)
      assert.equal((await by.leadership())?.generation, answer.generation, fleet.watcher.story())
      for (const member of fleet.members) {
        assert.ok(!member.log.some(({ event }) => event === 'store_error'), JSON.stringify(member.log))
      }
    })
  })

  rule(
    'without the right to watch, hands change within one poll, and a log line says why',
    { account: () => bench.namespace.createAccount([{ verbs: NO_WATCH }]) },
    async (fleet) => {
      const { by, answer } = await fleet.leader()
      await allSeeTheLeader(fleet, by)
      const next = fleet.watcher.above(answer.generation ?? 0)
      const drainedMs = performance.now()
      assert.equal((await by.post('/v1/drained', { generation: answer.generation }))?.status, 200)
      fleet.watcher.waive(answer.generation ?? 0, drainedMs)
      assert.ok((await next).answeredMs - drainedMs < TIMING.ttlMs / 2 + SLACK_MS)
      for (const member of fleet.members) {
        await until('it is said', () =>
          member.log.some(({ event, detail }) => event === 'store_note' && /no wake-ups/.test(detail ?? ''))
            ? true
            : null,
        )
      }
    },
  )
})

describe('the Lease of a leader', { skip }, () => {
  rule(
    'is deleted, and nobody watches: lost at the next renewal, waited out, and begun anew above it',
    { account: () => bench.namespace.createAccount([{ verbs: NO_WATCH }]) },
    async (fleet) => {
      const { by, answer } = await fleet.leader()
      await allSeeTheLeader(fleet, by)
      await bench.namespace.deleteLease(fleet.election)
      const deletedMs = performance.now()
      const next = fleet.watcher.above(answer.generation ?? 0)
      await until('it is lost', () => by.log.find(({ event }) => event === 'lost') ?? null)
      assert.ok(performance.now() - deletedMs < TIMING.renewEveryMs + SLACK_MS)
      const took = (await next).answeredMs - deletedMs
      assert.ok(took > TIMING.ttlMs, `somebody led after ${took} ms`)
      // Gone is what every candidate found for itself, a poll later at the most.
      assert.ok(took < TIMING.renewEveryMs + TIMING.ttlMs + AFTER_EXPIRY_MS, `${took} ms`)
    },
  )

  rule('is cleared by hand: it stops at once, and another generation begins', {}, async (fleet) => {
    const { by, answer } = await fleet.leader()
    await allSeeTheLeader(fleet, by)
    await renewedAgain(by)
    const next = fleet.watcher.above(answer.generation ?? 0)
    const clearedMs = performance.now()
    // Whoever clears it has made sure that nobody acts.
    fleet.watcher.waive(answer.generation ?? 0, clearedMs)
    await bench.namespace.patchLease(fleet.election, { spec: { holderIdentity: '' } })
    assert.ok((await next).answeredMs - clearedMs < HINT_MOST_MS + SLACK_MS)
    await until('it is lost', () => by.log.find(({ event }) => event === 'lost') ?? null)
  })
})

test('a namespace that is missing: not ready, says so, and leads once it is created', {
  skip,
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const namespace = newElection()
  const args = ['--store', `kubernetes://${namespace}`, '--ttl', `${TIMING.ttlMs}ms`, '--election', 'early']
  const environment = { KUBECONFIG: await bench.adminKubeconfig() }
  const one = await sidecar(t, 'early', args, { environment })
  assert.match(await errorOf(one, 'misconfigured'), new RegExp(`create the namespace ${namespace}`))
  assert.equal((await one.ask('/readyz'))?.status, 503)
  assert.equal((await one.ask('/livez'))?.status, 200)
  await bench.server.must('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  await one.leads(TIMING.ttlMs + AFTER_EXPIRY_MS)
  assert.equal((await one.ask('/readyz'))?.status, 200)
})
