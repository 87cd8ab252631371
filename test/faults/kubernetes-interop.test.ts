/** Sidecars and candidates of client-go contend for one Lease, and hands change between them many times. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from '../simulation/random.ts'
import { startUnless } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { type Claim, type Contender, Contest, type End, type Kind } from '../support/kubernetes/contest.ts'
import { LeaseHistory, type Version } from '../support/kubernetes/lease-history.ts'

const TTL_MS = 3_000
/** client-go's own proportions, as far as whole seconds allow: it asks every 0.5 to 1.1 s. */
const PEERS = { leaseSeconds: 3, renewSeconds: 2, retrySeconds: 0.5 }
const DIRECTION_LEAST = 16
const HANDOVERS_MOST = 60
const CAMPAIGN_MOST_MS = 150_000
/** Before a leader is ended, so that this falls on any moment between two renewals. */
const DWELL_MOST_MS = 700
/** G6. */
const WAKE_MOST_MS = 200
const AFTER_EXPIRY_MS = 1_000
/** What the wall clock, which the writers note, and the steady one, which they judge by, may differ over one duration. */
const SLEW_MOST_MS = 50

/** How tenures end, in the order in which a shuffle puts them, over and over. */
const ENDS: Readonly<Record<Kind, readonly End[]>> = {
  Tenure: ['SIGTERM', 'SIGTERM', 'SIGTERM', 'drained', 'drained', 'drained', 'SIGKILL', 'SIGKILL'],
  'client-go': ['SIGTERM', 'SIGTERM', 'SIGTERM', 'SIGTERM', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGKILL'],
}

interface Handover {
  readonly from: Kind
  readonly to: Kind
  /** `nothing`: the leader had lost its tenure by itself, on a machine too busy for it. */
  readonly how: End | 'nothing'
  readonly tookMs: number
}

const skip = skipReason(['etcd', 'kube-apiserver', 'leaderelection'])
const bench = await startUnless(skip)

test('sidecars and client-go hand one Lease to each other, and never do two lead at once', {
  skip,
  timeout: CAMPAIGN_MOST_MS,
}, async (t) => {
  const seed = Number(process.env.TENURE_TEST_SEED ?? Math.floor(Math.random() * 1e9))
  t.diagnostic(`seed ${seed} (TENURE_TEST_SEED)`)
  const contest = new Contest(t, bench, { args: ['--ttl', `${TTL_MS}ms`], peers: PEERS })
  const history = await LeaseHistory.start(bench.namespace, contest.election)
  const handovers: Handover[] = []
  const outcome = await play(contest, new Random(seed), handovers).catch((error: Error) => error)
  await contest.watcher.stop()
  await history.close()

  report(t, handovers)
  // What must not be comes before what did not happen.
  assertAlone(contest.claims())
  assertOrderly(history.versions)
  assertAbove(contest, history.versions)
  if (outcome instanceof Error) throw outcome
  assertPrompt(handovers)
})

/** Ends one leader after the other until hands have changed often enough in both directions. */
async function play(contest: Contest, random: Random, handovers: Handover[]): Promise<void> {
  const decks: Record<Kind, End[]> = { Tenure: [], 'client-go': [] }
  const count = (kind: Kind) =>
    handovers.filter(({ from, to, how }) => from === kind && to !== kind && how !== 'nothing').length
  let leader = await first(contest, random)
  while (Math.min(count('Tenure'), count('client-go')) < DIRECTION_LEAST) {
    assert.ok(handovers.length < HANDOVERS_MOST, JSON.stringify(handovers))
    await prepare(contest, leader, random)
    await sleep(random.between(0, DWELL_MOST_MS))
    const how = (await contest.leads(leader)) ? draw(decks, leader.kind, random) : 'nothing'
    const toldMs = how === 'nothing' ? performance.now() : await contest.end(leader, how)
    const { by, sinceMs } = await contest.next()
    handovers.push({ from: leader.kind, to: by.kind, how, tookMs: sinceMs - toldMs })
    leader = by
  }
}

function draw(decks: Record<Kind, End[]>, kind: Kind, random: Random): End {
  if (decks[kind].length === 0) decks[kind] = random.shuffle(ENDS[kind])
  const how = decks[kind].pop()
  assert.ok(how !== undefined)
  return how
}

/** The Lease is made by either. */
async function first(contest: Contest, random: Random): Promise<Contender> {
  await contest.add(random.pick(['Tenure', 'client-go']))
  return (await contest.next()).by
}

/**
 * Sees to it that one or two of the other kind wait for the Lease. A sidecar is woken and client-go asks in its own
 * time: beside another sidecar, client-go would hardly ever come in for it.
 */
async function prepare(contest: Contest, leader: Contender, random: Random): Promise<void> {
  const others: Kind = leader.kind === 'Tenure' ? 'client-go' : 'Tenure'
  for (const sibling of contest.standing(leader.kind)) {
    if (sibling === leader) continue
    if (leader.kind === 'client-go' && random.chance(0.5)) continue
    await contest.end(sibling, random.pick(['SIGTERM', 'SIGKILL']))
  }
  const wanted = random.chance(0.3) ? 2 : 1
  while (contest.standing(others).length < wanted) await contest.add(others)
  await Promise.all(contest.standing(others).map((one) => contest.sees(one, leader)))
}

/** No two may have been proven to lead at one instant. */
function assertAlone(claims: readonly Claim[]): void {
  let last: Claim | null = null
  for (const claim of claims) {
    const togetherMs = (last?.untilMs ?? 0) - claim.fromMs
    assert.ok(togetherMs <= 0, `${last?.who} and ${claim.who} led at once for ${togetherMs.toFixed(1)} ms`)
    if (last === null || claim.untilMs > last.untilMs) last = claim
  }
}

/**
 * Transitions grow at each change of holder, and nobody takes a Lease that is neither free nor run out. But client-go
 * from client-go: it does not see a renewal in the same second as the one before, and is early by up to a second.
 */
function assertOrderly(versions: readonly Version[]): void {
  let held: Version | null = null
  for (const [i, version] of versions.entries()) {
    const before = versions[i - 1]
    assert.ok(version.transitions >= (before?.transitions ?? 0), `transitions fell: ${tell(before, version)}`)
    if (version.holder === '') continue
    if (held !== null && held.holder !== version.holder) {
      assert.ok(version.transitions > held.transitions, `the same transitions: ${tell(held, version)}`)
      const sinceMs = version.acquiredAt - (before?.renewedAt ?? 0)
      const isTheirs = [held, version].every(({ holder }) => holder.startsWith('client-go'))
      const isFree = isTheirs || before?.holder === '' || sinceMs >= (before?.durationMs ?? 0) - SLEW_MOST_MS
      assert.ok(isFree, `taken after ${sinceMs} ms: ${tell(before, version)}`)
    }
    held = version
  }
}

/** The generation of every tenure that a sidecar answered is above whatever stood in the Lease before it. */
function assertAbove(contest: Contest, versions: readonly Version[]): void {
  const tenures = new Map(contest.watcher.leading.map(({ answer }) => [answer.generation ?? 0, answer]))
  for (const [generation, { identity, session }] of tenures) {
    const begin = versions.findIndex(
      ({ holder, transitions }) => holder === `${identity}_${session}` && transitions === generation,
    )
    assert.ok(begin >= 0, `generation ${generation} of ${identity} never stood in the Lease`)
    const highest = Math.max(-1, ...versions.slice(0, begin).map(({ transitions }) => transitions))
    assert.ok(generation > highest, `${identity} led under ${generation}, after ${highest}`)
  }
}

/** A sidecar is as quick after client-go as after another sidecar. */
function assertPrompt(handovers: readonly Handover[]): void {
  const crashesMs = spansOf(handovers, 'client-go', 'Tenure', 'SIGKILL')
  const releasesMs = spansOf(handovers, 'client-go', 'Tenure', 'SIGTERM')
  const longestMs = Math.max(...crashesMs)
  assert.ok(longestMs < TTL_MS + AFTER_EXPIRY_MS, `a crash of client-go was noticed after ${longestMs} ms`)
  const medianMs = quantile(releasesMs, 0.5)
  assert.ok(medianMs < WAKE_MOST_MS, `releases of client-go were noticed after ${releasesMs.join()} ms`)
}

function tell(...versions: readonly (Version | undefined)[]): string {
  return versions.map((version) => JSON.stringify(version)).join(' then ')
}

function spansOf(
  handovers: readonly Handover[],
  from: Kind,
  to: Kind,
  how: Handover['how'],
): readonly number[] {
  return handovers
    .filter((one) => one.from === from && one.to === to && one.how === how)
    .map(({ tookMs }) => tookMs)
}

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))] ?? Number.NaN
}

function report(t: TestContext, handovers: readonly Handover[]): void {
  const kinds = new Map(handovers.map((one) => [`${one.from} → ${one.to}, ${one.how}`, one]))
  for (const [name, { from, to, how }] of [...kinds].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const spansMs = spansOf(handovers, from, to, how)
    t.diagnostic(
      `${name}: ${spansMs.length} times, median ${quantile(spansMs, 0.5).toFixed(0)} ms, longest ${Math.max(...spansMs).toFixed(0)} ms`,
    )
  }
  t.diagnostic(`${handovers.length} handovers`)
}
