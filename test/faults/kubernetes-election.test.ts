import assert from 'node:assert/strict'
import { after, afterEach, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newElection, startUnless, until } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { Candidate } from '../support/kubernetes/candidate.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const TTL_MS = 3_000
const MARGIN_MS = TTL_MS / 5
/** Between a renewal at the store and an expiry judged by observation: one request, one timer, its jitter. */
const EXPIRY_SLACK_MS = 250
const HANDOVER_MOST_MS = 200
const HANDOVERS = 15

const skip = skipReason()
const bench = await startUnless(skip)

const running: Candidate[] = []
afterEach(() => {
  for (const candidate of running.splice(0)) candidate.election.abandon()
})

async function start(election: string, identity: string, port?: number): Promise<Candidate> {
  const store = await bench.open(port === undefined ? {} : { port })
  const candidate = new Candidate(election, identity, store, TTL_MS)
  running.push(candidate)
  return candidate
}

/** A leader and a follower whose watches are up. */
async function pair(election: string): Promise<{ leader: Candidate; follower: Candidate }> {
  const leader = await start(election, 'one')
  await until('one leads', () => leader.leads)
  const follower = await start(election, 'two')
  await until('two knows it', () => follower.election.status().current?.holder === 'one')
  return { leader, follower }
}

function report(t: TestContext, what: string, spansMs: readonly number[]): void {
  const sorted = spansMs.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(0)
  t.diagnostic(`${what}: median ${at(0.5)} ms, worst ${at(1)} ms, ${sorted.length} times`)
}

describe('an election on Kubernetes', { skip }, () => {
  it('in quiet costs one write every half ttl, and a follower asks nothing', async (t) => {
    const election = newElection()
    const [first, second] = [await bench.proxy(), await bench.proxy()]
    const leader = await start(election, 'one', first.port)
    await until('one leads', () => leader.leads)
    const follower = await start(election, 'two', second.port)
    await until('two watches', () => second.count('WATCH') === 1)
    await sleep(TTL_MS / 2)
    first.reset()
    second.reset()
    const halves = 6
    await sleep((halves * TTL_MS) / 2)
    const writes = first.count('PUT')
    t.diagnostic(
      `${writes} writes in ${halves} half ttls, ${second.requests.length} requests of the follower`,
    )
    assert.ok(writes >= halves - 1 && writes <= halves, `${writes} writes`)
    assert.equal(first.requests.length, writes, 'the leader only writes')
    assert.equal(second.requests.length, 0, 'the follower is told')
    assert.ok(leader.leads && !follower.leads)
  })

  it('is handed over at once when its leader releases', async (t) => {
    const election = newElection()
    let { leader, follower } = await pair(election)
    const spansMs: number[] = []
    for (let i = 0; i < HANDOVERS; i++) {
      const { generation } = leader
      leader.election.resign(null)
      await until('the other leads', () => follower.leads)
      const released = leader.reports.findLast(({ op, result }) => op === 'release' && result === 'released')
      const left = leader.changes.findLast(({ to }) => to === 'following')
      assert.ok(released !== undefined && left !== undefined)
      spansMs.push(follower.ledSinceMs - left.atMs)
      assert.ok((follower.generation ?? 0) > (generation ?? 0))
      ;[leader, follower] = [follower, leader]
    }
    report(t, 'release to next leader', spansMs)
    assert.ok(Math.max(...spansMs) < HANDOVER_MOST_MS, spansMs.join())
  })

  it('is taken over at the expiry when its leader dies', async (t) => {
    const election = newElection()
    const spansMs: number[] = []
    for (let i = 0; i < 3; i++) {
      const { leader, follower } = await pair(election)
      const { generation } = leader
      await until('a renewal', () => leader.reports.at(-1)?.op === 'renew')
      const renewedAtMs = performance.now()
      leader.election.abandon()
      await until('the other leads', () => follower.leads)
      spansMs.push(follower.ledSinceMs - renewedAtMs - TTL_MS)
      assert.equal(follower.generation, (generation ?? 0) + 1)
      await follower.election.stop()
    }
    report(t, 'expiry to next leader', spansMs)
    assert.ok(Math.max(...spansMs) < EXPIRY_SLACK_MS, spansMs.join())
    assert.ok(Math.min(...spansMs) > -EXPIRY_SLACK_MS, spansMs.join())
  })

  it('goes on under the same generation when connections go dead without a word', async () => {
    const election = newElection()
    const proxy = await TcpProxy.start(bench.server.port)
    after(() => proxy.close())
    const leader = await start(election, 'one', proxy.port)
    await until('one leads', () => leader.leads)
    const { generation } = leader
    proxy.forgetOpen()
    await until('a renewal failed', () => leader.reports.some(({ result }) => result === 'timeout'))
    await until('and one was granted', () => leader.reports.at(-1)?.result === 'granted')
    assert.equal(leader.generation, generation)
    assert.equal(leader.changes.length, 1)
  })

  it('whose Lease is deleted ends at once, and begins again once the Lease is waited out', async () => {
    const election = newElection()
    const { leader, follower } = await pair(election)
    const deletedAtMs = performance.now()
    await bench.namespace.deleteLease(election)
    await until('the leader stops', () => !leader.leads)
    assert.ok(performance.now() - deletedAtMs < HANDOVER_MOST_MS)
    assert.equal(leader.changes.at(-1)?.reason, 'lost')
    await until('somebody leads', () => leader.leads || follower.leads)
    const led = leader.leads ? leader : follower
    const leaderlessMs = led.ledSinceMs - deletedAtMs
    assert.ok(leaderlessMs >= TTL_MS && leaderlessMs < TTL_MS + 1_000, `${leaderlessMs} ms`)
    assert.equal(led.generation, 2)
  })

  it('survives an API server that stands still for less than the ttl', async () => {
    const election = newElection()
    const { leader, follower } = await pair(election)
    await until('a renewal', () => leader.reports.at(-1)?.op === 'renew')
    bench.server.pause()
    await sleep(TTL_MS / 3)
    bench.server.resume()
    await sleep(TTL_MS)
    assert.ok(leader.leads && !follower.leads)
    assert.equal(leader.generation, 1)
    assert.equal(leader.changes.length, 1)
  })

  it('stops before the expiry when the API server is away for longer, and goes on when it is back', async () => {
    const election = newElection()
    const { leader, follower } = await pair(election)
    await bench.server.kill()
    const killedAtMs = performance.now()
    await until('the leader stops', () => !leader.leads)
    const stoppedMs = performance.now() - killedAtMs
    assert.ok(stoppedMs <= TTL_MS - MARGIN_MS + EXPIRY_SLACK_MS, `${stoppedMs} ms`)
    assert.equal(leader.changes.at(-1)?.reason, 'deadline')
    await bench.server.start()
    const backAtMs = performance.now()
    await until('somebody leads', () => leader.leads || follower.leads)
    assert.ok(performance.now() - backAtMs < TTL_MS + 1_000)
    const led = leader.leads ? leader : follower
    assert.ok((led.generation ?? 0) > 1)
    assert.ok(leader.leads !== follower.leads)
  })
})
