/** Sidecars and candidates of client-go that contend for one Lease, each a process of its own. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { SidecarProcess, until } from '../sidecar.ts'
import { Watcher } from '../watcher.ts'
import { type KubernetesBench, newElection } from './bench.ts'
import { Peer, type PeerSettings } from './peer.ts'

export type Kind = 'Tenure' | 'client-go'
export type End = 'SIGTERM' | 'SIGKILL' | 'drained'

/** How long somebody led at the least: from the first sign that was read here to the last instant proven. */
export interface Claim {
  readonly who: string
  readonly fromMs: number
  readonly untilMs: number
}

/** One of those that contend. */
export type Contender =
  | { readonly kind: 'Tenure'; readonly process: SidecarProcess }
  | { readonly kind: 'client-go'; readonly process: Peer }

/** A leader, since when, and under which generation where that is known. */
export interface Led {
  readonly by: Contender
  readonly sinceMs: number
}

export interface ContestSettings {
  /** Flags of every sidecar. */
  readonly args: readonly string[]
  readonly peers: Pick<PeerSettings, 'leaseSeconds' | 'renewSeconds' | 'retrySeconds'>
}

export class Contest {
  readonly election = newElection()
  readonly watcher = new Watcher(this.election)
  readonly #t: TestContext
  readonly #bench: KubernetesBench
  readonly #settings: ContestSettings
  readonly #contenders: Contender[] = []
  /** When a process was told to end: from then on a peer claims nothing, and nobody is counted on. */
  readonly #toldMs = new Map<SidecarProcess | Peer, number>()
  #generation = 0
  #sinceMs = 0

  constructor(t: TestContext, bench: KubernetesBench, settings: ContestSettings) {
    this.#t = t
    this.#bench = bench
    this.#settings = settings
  }

  /** One more of a kind. Resolves when it runs. */
  async add(kind: Kind): Promise<Contender> {
    const kubeconfig = await this.#bench.namespace.kubeconfig(this.#bench.account)
    const identity = `${kind}-${this.#contenders.length + 1}`
    const contender =
      kind === 'Tenure' ? await this.#sidecar(identity, kubeconfig) : this.#peer(identity, kubeconfig)
    this.#contenders.push(contender)
    return contender
  }

  /** Those of a kind that were not told to end. */
  standing(kind: Kind): readonly Contender[] {
    return this.#contenders.filter((one) => one.kind === kind && !this.#toldMs.has(one.process))
  }

  /** Waits until a contender has seen who leads, or that one leads no more. */
  async sees(contender: Contender, holder: Contender): Promise<void> {
    const { identity } = holder.process
    await until(`${contender.process.identity} sees ${identity}`, async () => {
      const seen = await holderSeenBy(contender)
      if (seen === identity || seen?.startsWith(`${identity}_`)) return true
      return (await this.leads(holder)) ? null : true
    })
  }

  async leads({ kind, process }: Contender): Promise<boolean> {
    return kind === 'client-go' ? process.leads : (await process.report())?.leading === true
  }

  /** Whoever leads next, after the one that was answered last. */
  async next(): Promise<Led> {
    const led = await until('the next one leads', () => this.#ledBySidecar() ?? this.#ledByPeer()).catch(
      (cause: Error) => {
        throw new Error(`${cause.message}; ${this.watcher.story()}`, { cause })
      },
    )
    this.#sinceMs = led.sinceMs
    return led
  }

  /** Ends a leader, or only its tenure where it says "drained". Resolves, once it was told, with the time of that. */
  async end({ kind, process }: Contender, how: End): Promise<number> {
    const toldMs = performance.now()
    if (kind === 'client-go' || how !== 'drained') {
      this.#toldMs.set(process, toldMs)
      process.child.kill(how === 'SIGKILL' ? how : 'SIGTERM')
      return toldMs
    }
    const answer = await process.post('/v1/drained', { generation: this.#generation })
    // It may have lost its tenure on the way.
    if (answer?.status === 409) return toldMs
    assert.equal(answer?.status, 200, answer?.body)
    this.watcher.waive(this.#generation, toldMs)
    return toldMs
  }

  /** Everybody's claims, in the order of their beginnings. */
  claims(): readonly Claim[] {
    const peers = this.#contenders.flatMap(({ kind, process }) =>
      kind === 'client-go' ? claimsOf(process, this.#toldMs.get(process)) : [],
    )
    const sidecars = this.watcher.tenures.map(({ who, generation, fromMs, untilMs }) => ({
      who: `${who} under ${generation}`,
      fromMs,
      untilMs,
    }))
    return [...peers, ...sidecars].sort((a, b) => a.fromMs - b.fromMs)
  }

  #ledBySidecar(): Led | null {
    const seen = this.watcher.leading.at(-1)
    const generation = seen?.answer.generation ?? 0
    if (generation <= this.#generation) return null
    this.#generation = generation
    const by = this.#contenders.find(({ process }) => process === seen?.by)
    const tenure = this.watcher.tenures.at(-1)
    assert.ok(by !== undefined && tenure !== undefined)
    return { by, sinceMs: tenure.fromMs }
  }

  #ledByPeer(): Led | null {
    for (const by of this.#contenders) {
      const sinceMs = by.kind === 'client-go' ? by.process.events.findLast(isLeading)?.atMs : undefined
      if (sinceMs !== undefined && sinceMs > this.#sinceMs) return { by, sinceMs }
    }
    return null
  }

  async #sidecar(identity: string, kubeconfig: string): Promise<Contender> {
    const { args } = this.#settings
    const store = ['--store', `kubernetes://${this.#bench.namespace.name}`, '--election', this.election]
    const environment = { KUBECONFIG: kubeconfig }
    const process = new SidecarProcess(identity, [...store, ...args], { environment })
    this.#t.after(() => process.end())
    await process.listening()
    this.watcher.add(process)
    return { kind: 'Tenure', process }
  }

  #peer(identity: string, kubeconfig: string): Contender {
    const [namespace, name] = [this.#bench.namespace.name, this.election]
    const process = new Peer({ ...this.#settings.peers, identity, kubeconfig, namespace, name })
    this.#t.after(() => process.end('SIGKILL'))
    return { kind: 'client-go', process }
  }
}

const isLeading = ({ event }: { event: string }): boolean => event === 'leading'

async function holderSeenBy({ kind, process }: Contender): Promise<string | null> {
  if (kind === 'client-go') return process.holder
  return (await process.report())?.current?.holder ?? null
}

/** A peer leads from when it says so until it says that it stopped, or was told to: then its own work is cancelled. */
function claimsOf({ identity, events }: Peer, toldMs = Number.POSITIVE_INFINITY): readonly Claim[] {
  return events.flatMap((begun, i) => {
    if (!isLeading(begun)) return []
    const stopped = events.slice(i).find(({ event }) => event === 'stopped')
    const untilMs = Math.min(stopped?.atMs ?? Number.POSITIVE_INFINITY, toldMs)
    return [{ who: identity, fromMs: begun.atMs, untilMs }]
  })
}
