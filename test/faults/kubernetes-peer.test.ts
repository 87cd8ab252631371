import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { newElection, startUnless, until } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { Candidate } from '../support/kubernetes/candidate.ts'
import { Peer } from '../support/kubernetes/peer.ts'

const TTL_MS = 3_000
/** client-go asks in its own time: every 0.5 to 1.1 s here. */
const PEER = { leaseSeconds: 3, renewSeconds: 2, retrySeconds: 0.5 }

const skip = skipReason(['etcd', 'kube-apiserver', 'leaderelection'])
const bench = await startUnless(skip)

const candidates: Candidate[] = []
const peers: Peer[] = []
afterEach(async () => {
  for (const candidate of candidates.splice(0)) candidate.election.abandon()
  await Promise.all(peers.splice(0).map((peer) => peer.end('SIGKILL')))
})

async function tenure(election: string): Promise<Candidate> {
  const candidate = new Candidate(election, 'ours', await bench.open(), TTL_MS)
  candidates.push(candidate)
  return candidate
}

async function clientGo(name: string): Promise<Peer> {
  const kubeconfig = await bench.namespace.kubeconfig(bench.account)
  const peer = new Peer({ ...PEER, kubeconfig, namespace: bench.namespace.name, name, identity: 'theirs' })
  peers.push(peer)
  return peer
}

describe('a candidate of client-go on the same Lease', { skip }, () => {
  it('is respected while it leads, and followed at once when it releases', async () => {
    const election = newElection()
    const peer = await clientGo(election)
    await until('it leads', () => peer.leads)
    const ours = await tenure(election)
    await until('it is seen', () => ours.election.status().current?.holder === 'theirs')
    assert.ok(!ours.leads)
    await peer.end('SIGTERM')
    await until('we lead', () => ours.leads)
    assert.equal(ours.generation, 1)
  })

  it('is followed once its own duration has passed when it is killed', async () => {
    const election = newElection()
    const peer = await clientGo(election)
    await until('it leads', () => peer.leads)
    const ours = await tenure(election)
    await until('it is seen', () => ours.election.status().current?.holder === 'theirs')
    const killedAtMs = performance.now()
    await peer.end('SIGKILL')
    await until('we lead', () => ours.leads)
    const tookMs = ours.ledSinceMs - killedAtMs
    // It last renewed half a second before its end at the most.
    assert.ok(tookMs > TTL_MS - 600 && tookMs < TTL_MS + 300, `${tookMs} ms`)
  })

  it('respects us while we lead, and leads after our release, one transition on', async () => {
    const election = newElection()
    const ours = await tenure(election)
    await until('we lead', () => ours.leads)
    const peer = await clientGo(election)
    await until('it sees us', () => peer.holder?.startsWith('ours_') === true)
    await until('we have renewed twice', () => ours.reports.filter(({ op }) => op === 'renew').length >= 2)
    assert.ok(!peer.leads)
    await ours.election.stop()
    await until('it leads', () => peer.leads)
    const lease = await bench.namespace.lease(election)
    assert.equal(lease?.spec.holderIdentity, 'theirs')
    assert.equal(lease?.spec.leaseTransitions, 2)
  })
})
