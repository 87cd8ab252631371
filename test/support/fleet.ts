/** Several sidecars that contend for one election, under a watch that lasts as long as the test. */
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { SidecarProcess } from './sidecar.ts'
import { type Sighting, Watcher } from './watcher.ts'

export interface FleetSettings {
  /** Flags of every member: the store and the ttl among them. */
  readonly args: readonly string[]
  /** How many to begin with. Default 3. */
  readonly size?: number
  /** Leaves what is loaded when it is first asked for to the test. */
  readonly cold?: boolean
  /** Of each member, made when it starts. */
  readonly environment?: () => Promise<NodeJS.ProcessEnv>
}

export class Fleet {
  readonly election = `fleet-${randomUUID().slice(0, 8)}`
  readonly members: SidecarProcess[] = []
  readonly watcher = new Watcher(this.election)
  readonly #t: TestContext
  readonly #args: readonly string[]
  readonly #environment: () => Promise<NodeJS.ProcessEnv>

  constructor(t: TestContext, { args, environment = async () => ({}) }: FleetSettings) {
    this.#t = t
    this.#args = [...args, '--election', this.election]
    this.#environment = environment
  }

  /** One more member, watched from the moment it answers. */
  async add(...args: readonly string[]): Promise<SidecarProcess> {
    const environment = await this.#environment()
    const identity = `candidate-${this.members.length + 1}`
    const member = new SidecarProcess(identity, [...this.#args, ...args], { environment })
    this.members.push(member)
    this.#t.after(() => member.end())
    await member.listening()
    this.watcher.add(member)
    return member
  }

  /** Whoever leads now, by its next answer. */
  leader(mostMs?: number): Promise<Sighting> {
    return this.watcher.next(() => true, mostMs)
  }

  /** Members that have not ended, but for these. */
  others(...but: readonly SidecarProcess[]): readonly SidecarProcess[] {
    return this.members.filter((member) => !member.ended && !but.includes(member))
  }
}

/** Runs `body` with a fleet, and afterwards fails if two of it ever led at once. */
export async function withFleet(
  t: TestContext,
  settings: FleetSettings,
  body: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  const { size = 3, cold = false } = settings
  const fleet = new Fleet(t, settings)
  try {
    await Promise.all(Array.from({ length: size }, () => fleet.add()))
    if (!cold) await Promise.all(fleet.members.map((member) => member.ask('/v1/history')))
    await body(fleet)
  } finally {
    for (const member of fleet.members) await member.end()
  }
  await fleet.watcher.stop()
}
