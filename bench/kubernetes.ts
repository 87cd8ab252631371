/**
 * The Lease store on a real API server, beside candidates of client-go in the same run: the same ttl, and client-go's
 * own proportions (15 s, 10 s, 2 s), on a smaller scale so that crashes can be waited for.
 */
import { startApiServer } from '../test/support/kubernetes/api-server.ts'
import { missingBinaries } from '../test/support/kubernetes/binaries.ts'
import { HttpProxy } from '../test/support/kubernetes/http-proxy.ts'
import { LeaseHistory } from '../test/support/kubernetes/lease-history.ts'
import { Namespace } from '../test/support/kubernetes/namespace.ts'
import { Peer } from '../test/support/kubernetes/peer.ts'
import { answerOf, drained } from './handover.ts'
import { bareMemory, sidecarMemory } from './memory.ts'
import { ask, bundledSidecar, leads, type Measured, median, pause, print, quantile } from './rig.ts'

const TTL_MS = 6_000
const PEERS = { leaseSeconds: 6, renewSeconds: 4, retrySeconds: 0.8 }
const CANDIDATES = 3
const RELEASES = 30
const CRASHES = 6
const HALF_TTLS = 10
const HANDOVER_MOST_MS = 3 * TTL_MS
const SETTLE_MS = 150

interface Crash {
  readonly sinceKillMs: number
  readonly sinceExpiryMs: number
}

/** Candidates of one kind on a Lease of their own. */
interface Team {
  /** Ends one tenure in good order; how long until the next leader. */
  release(): Promise<number>
  /** Kills the leader and starts another candidate in its place. */
  crash(): Promise<Crash>
  stop(): Promise<void>
}

interface Ground {
  readonly namespace: Namespace
  kubeconfig(port?: number): Promise<string>
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SETTLE_MS))

async function waitFor<T>(what: string, find: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const endMs = performance.now() + HANDOVER_MOST_MS
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    if (performance.now() > endMs) throw new Error(`not after ${HANDOVER_MOST_MS} ms: ${what}`)
    await pause()
  }
}

/** When the record that was written last runs out, as far as a watch can tell: the wall clock may be slewed. */
function expiryOf({ versions }: LeaseHistory): number {
  const last = versions.at(-1)
  if (last === undefined) throw new Error('the Lease was never written')
  return last.seenMs + TTL_MS
}

function crashOf(killedMs: number, expiryMs: number): Crash {
  const nowMs = performance.now()
  return { sinceKillMs: nowMs - killedMs, sinceExpiryMs: nowMs - expiryMs }
}

function startSidecar(ground: Ground, kubeconfig: string, more: readonly string[]): Promise<Measured> {
  const flags = ['--store', `kubernetes://${ground.namespace.name}`, '--ttl', `${TTL_MS}ms`, ...more]
  return bundledSidecar(flags, { KUBECONFIG: kubeconfig })
}

async function tenureTeam(ground: Ground): Promise<Team> {
  const name = 'bench-tenure'
  const history = await LeaseHistory.start(ground.namespace, name)
  let started = 0
  const start = async () => {
    const identity = `tenure-${++started}`
    const flags = ['--election', name, '--identity', identity]
    const sidecar = await startSidecar(ground, await ground.kubeconfig(), flags)
    await ask(sidecar.port, '/v1/leadership')
    return sidecar
  }
  const members = new Set<Measured>()
  for (let i = 0; i < CANDIDATES; i++) members.add(await start())
  const leader = (above: number) =>
    waitFor('a sidecar leads', async () => {
      for (const by of members) {
        const { leading, generation } = await answerOf(by.port)
        if (leading && generation !== null && generation > above) return { by, generation }
      }
      return undefined
    })
  return {
    release: async () => {
      await settled()
      const { by, generation } = await leader(0)
      const begin = performance.now()
      const status = await drained(by.port, generation)
      if (status !== 200) throw new Error(`drained: ${status}`)
      await leader(generation)
      return performance.now() - begin
    },
    crash: async () => {
      await settled()
      const { by, generation } = await leader(0)
      members.delete(by)
      by.child.kill('SIGKILL')
      const begin = performance.now()
      await settled()
      const expiryMs = expiryOf(history)
      await leader(generation)
      const crash = crashOf(begin, expiryMs)
      members.add(await start())
      return crash
    },
    stop: async () => {
      await history.close()
      await Promise.all([...members].map((member) => member.stop()))
    },
  }
}

async function clientGoTeam(ground: Ground): Promise<Team> {
  const name = 'bench-client-go'
  const history = await LeaseHistory.start(ground.namespace, name)
  let started = 0
  const members = new Set<Peer>()
  const leader = () => waitFor('a peer leads', () => [...members].find((peer) => peer.leads))
  const add = async () => {
    const identity = `peer-${++started}`
    const settings = { ...PEERS, namespace: ground.namespace.name, name, identity }
    const peer = new Peer({ ...settings, kubeconfig: await ground.kubeconfig() })
    members.add(peer)
    await waitFor(`${identity} sees a leader`, () => peer.holder ?? undefined)
  }
  for (let i = 0; i < CANDIDATES; i++) await add()
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    const by = await leader()
    members.delete(by)
    const begin = performance.now()
    by.child.kill(signal)
    return begin
  }
  return {
    release: async () => {
      const begin = await end('SIGTERM')
      await leader()
      const tookMs = performance.now() - begin
      await add()
      return tookMs
    },
    crash: async () => {
      const begin = await end('SIGKILL')
      await settled()
      const expiryMs = expiryOf(history)
      await leader()
      const crash = crashOf(begin, expiryMs)
      await add()
      return crash
    },
    stop: async () => {
      await history.close()
      await Promise.all([...members].map((peer) => peer.end('SIGKILL')))
    },
  }
}

const spread = (values: readonly number[]): string =>
  `median ${median(values).toFixed(0)} ms, p99 ${quantile(values, 0.99).toFixed(0)} ms, longest ${Math.max(...values).toFixed(0)} ms`

async function handovers(ground: Ground): Promise<void> {
  for (const [name, start] of Object.entries({ Tenure: tenureTeam, 'client-go': clientGoTeam })) {
    const team = await start(ground)
    const releases: number[] = []
    const crashes: Crash[] = []
    try {
      for (let i = 0; i < RELEASES; i++) releases.push(await team.release())
      for (let i = 0; i < CRASHES; i++) crashes.push(await team.crash())
    } finally {
      await team.stop()
    }
    print(`${name}: release → next leader, ${RELEASES} times: ${spread(releases)}`)
    print(
      `${name}: SIGKILL → next leader, ${CRASHES} times: ${spread(crashes.map((one) => one.sinceKillMs))}`,
    )
    print(`${name}: expiry of the record → next leader: ${spread(crashes.map((one) => one.sinceExpiryMs))}`)
  }
}

/** What a leader and a follower send while nothing happens, counted on the way. */
async function traffic(ground: Ground): Promise<void> {
  const [ourLeader, ourFollower, theirLeader, theirFollower] = await Promise.all(
    Array.from({ length: 4 }, () => HttpProxy.start(ground.namespace.server)),
  )
  if (!ourLeader || !ourFollower || !theirLeader || !theirFollower) throw new Error('a proxy is missing')
  const proxies = { ourLeader, ourFollower, theirLeader, theirFollower }
  const sidecar = async (proxy: HttpProxy, identity: string) =>
    startSidecar(ground, await ground.kubeconfig(proxy.port), [
      ...['--election', 'bench-traffic', '--identity', identity],
    ])
  const settings = { ...PEERS, namespace: ground.namespace.name, name: 'bench-traffic-peers' }
  const peer = async (proxy: HttpProxy, identity: string) =>
    new Peer({ ...settings, identity, kubeconfig: await ground.kubeconfig(proxy.port) })
  const first = await sidecar(ourLeader, 'leader')
  await leads(first.port)
  const sidecars = [first, await sidecar(ourFollower, 'follower')]
  const peers = [await peer(theirLeader, 'leader')]
  await waitFor('a peer leads', () => peers[0]?.leads || undefined)
  peers.push(await peer(theirFollower, 'follower'))
  await new Promise((resolve) => setTimeout(resolve, TTL_MS))
  for (const proxy of Object.values(proxies)) proxy.reset()
  await new Promise((resolve) => setTimeout(resolve, (HALF_TTLS * TTL_MS) / 2))
  const told = (proxy: HttpProxy) => `${proxy.count('PUT')} writes, ${proxy.count('GET')} reads`
  const inMs = `in ${HALF_TTLS} half ttls (${(HALF_TTLS * TTL_MS) / 2_000} s)`
  print(`Tenure ${inMs}: leader ${told(ourLeader)}; follower ${told(ourFollower)}`)
  print(`client-go ${inMs}: leader ${told(theirLeader)}; follower ${told(theirFollower)}`)
  await Promise.all([...sidecars.map((one) => one.stop()), ...peers.map((one) => one.end('SIGKILL'))])
  await Promise.all(Object.values(proxies).map((proxy) => proxy.close()))
}

export async function kubernetes(): Promise<void> {
  const missing = missingBinaries()
  if (missing.length > 0)
    throw new Error(`${missing.join(', ')} missing: run "node scripts/prepare-tests.ts" with Go installed`)
  const server = await startApiServer()
  try {
    const namespace = await Namespace.create(server)
    const account = await namespace.createAccount()
    const kubeconfig = (port = server.port) => namespace.kubeconfig(account, { port })
    const ground = { namespace, kubeconfig }
    const { leaseSeconds, renewSeconds, retrySeconds } = PEERS
    print(`ttl ${TTL_MS / 1_000} s; client-go at ${leaseSeconds} / ${renewSeconds} / ${retrySeconds} s`)
    const base = await bareMemory()
    const flags = ['--store', `kubernetes://${namespace.name}`]
    await sidecarMemory('kubernetes', base, flags, { KUBECONFIG: await kubeconfig() })
    await traffic(ground)
    await handovers(ground)
  } finally {
    await server.dispose()
  }
}
