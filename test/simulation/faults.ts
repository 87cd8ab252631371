/** What can go wrong, and how to put it right again. Each is begun at random and ended before the quiet end. */
import type { Timing } from '../../src/election/timing.ts'
import type { Candidate } from './candidate.ts'
import type { Checks } from './checks.ts'
import { calm, type Network } from './lease-client.ts'
import type { LeaseServer } from './lease-server.ts'
import type { World } from './world.ts'

export interface Stage {
  readonly world: World
  readonly server: LeaseServer
  readonly candidates: readonly Candidate[]
  readonly checks: Checks
  readonly timing: Timing
  /** Furthest that the store's clock may step forward, between a renewal and its expiry. */
  readonly stepForwardMs: number
  /** What the quiet end has to allow for. */
  backwardMs: number
  rewound: boolean
  steppedAtMs: number
}

type Fault = (stage: Stage, candidate: Candidate, lastsMs: number) => void

/** Ends what it began, after `lastsMs`. */
function during(stage: Stage, lastsMs: number, name: string, begin: () => void, end: () => void): void {
  stage.world.tell(`fault: ${name} for ${lastsMs.toFixed(0)} ms`)
  begin()
  stage.world.in(lastsMs, () => {
    stage.world.tell(`fault over: ${name}`)
    end()
  })
}

function standStill(stage: Stage, one: Candidate, lastsMs: number, how: 'freeze' | 'suspend'): void {
  if (!one.alive || !one.host.running) return
  const { session } = one
  during(
    stage,
    lastsMs,
    `${how} ${one.host.name}`,
    () => one.host[how](),
    () => {
      if (one.session === session) one.host.resume()
    },
  )
}

function restart(stage: Stage, one: Candidate, afterMs: number): void {
  stage.world.in(afterMs, () => {
    if (!one.alive) one.start()
  })
}

const FAULTS: Readonly<Record<string, Fault>> = {
  freeze: (stage, one, lastsMs) => standStill(stage, one, lastsMs, 'freeze'),
  suspend: (stage, one, lastsMs) => standStill(stage, one, lastsMs, 'suspend'),
  kill: (stage, one, lastsMs) => {
    stage.world.tell(`fault: kill ${one.host.name}`)
    one.kill()
    restart(stage, one, lastsMs)
  },
  terminate: (stage, one, lastsMs) => {
    stage.world.tell(`TERM to ${one.host.name}`)
    one.terminate()
    if (stage.world.random.chance(0.2))
      stage.world.in(stage.world.random.between(0, 800), () => one.abandon())
    restart(stage, one, lastsMs + 3_000)
  },
  cut: (stage, one, lastsMs) =>
    during(
      stage,
      lastsMs,
      `cut ${one.host.name} off`,
      () => Object.assign(one.network, { cut: true }),
      () => Object.assign(one.network, calm()),
    ),
  storm: (stage, one, lastsMs) => {
    const { random } = stage.world
    const weather = {
      lossy: random.between(0, 0.4),
      doubled: random.between(0, 0.5),
      slowMs: random.pick([5, 50, 500, stage.timing.attemptTimeoutMs * 1.5]),
      lockedMs: random.chance(0.3) ? stage.timing.attemptTimeoutMs * 1.5 : 0,
    }
    during(
      stage,
      lastsMs,
      `storm around ${one.host.name} ${JSON.stringify(weather)}`,
      () => Object.assign(one.network, weather),
      () => Object.assign(one.network, calm()),
    )
  },
  fade: (stage, one, lastsMs) => {
    // Replies come late but in time, and then none comes at all: wrong anchors of a deadline show here.
    const { attemptTimeoutMs, renewEveryMs, ttlMs } = stage.timing
    const set = (network: Partial<Network>) => (): void => {
      Object.assign(one.network, calm(), network)
    }
    const slowMs = attemptTimeoutMs * 0.95
    const cut = (): void =>
      during(stage, Math.max(lastsMs, ttlMs), `cut ${one.host.name} off`, set({ cut: true }), set({}))
    during(stage, renewEveryMs * 1.5, `slow replies to ${one.host.name}`, set({ slowBackMs: slowMs }), cut)
  },
  stall: (stage, one) => {
    // Stands still with a request under way, whose reply then meets a tenure that may be over.
    const { random } = stage.world
    const { attemptTimeoutMs, renewEveryMs, ttlMs } = stage.timing
    const set = (network: Partial<Network>) => (): void => {
      Object.assign(one.network, calm(), network)
    }
    const slow = set({ slowBackMs: attemptTimeoutMs * 0.95 })
    during(stage, renewEveryMs * 2, `slow replies to ${one.host.name}`, slow, set({}))
    stage.world.in(random.between(0, renewEveryMs * 1.5), () => {
      standStill(stage, one, random.between(0.2, 0.9) * ttlMs, random.pick(['freeze', 'suspend']))
    })
  },
  outage: (stage, _, lastsMs) => {
    const set = (up: boolean) => (): void => {
      stage.server.up = up
    }
    during(stage, lastsMs, 'store down', set(false), set(true))
  },
  readOnly: (stage, _, lastsMs) => {
    const set = (readOnly: boolean) => (): void => {
      stage.server.readOnly = readOnly
    }
    during(stage, lastsMs, 'store read-only', set(true), set(false))
  },
  storeClock: (stage) => {
    const { world, timing } = stage
    if (world.random.chance(0.5)) {
      if (world.nowMs - stage.steppedAtMs < timing.ttlMs * 1.5) return
      stage.steppedAtMs = world.nowMs
      const ms = world.random.between(0, stage.stepForwardMs)
      world.tell(`fault: store clock forward ${ms.toFixed(1)} ms`)
      stage.server.stepClock(ms)
      return
    }
    const ms = world.random.pick([5, 500, 3_600_000])
    world.tell(`fault: store clock back ${ms} ms`)
    stage.backwardMs = Math.max(stage.backwardMs, Math.min(ms, 2 * timing.ttlMs))
    stage.server.stepClock(-ms)
  },
  wallClock: (stage, one) => {
    stage.world.tell(`fault: wall clock of ${one.host.name}`)
    one.host.stepWall(stage.world.random.between(-3_600_000, 10_000))
  },
  rewind: (stage) => {
    const writes = stage.world.random.pick([1, 1, 2, 3])
    stage.world.tell(`fault: store rewound by ${writes} writes`)
    stage.rewound = true
    stage.server.rewind(writes)
  },
  resign: (stage, one) => {
    stage.world.tell(`resign ${one.host.name}`)
    one.answering?.resign(null)
  },
  drained: (stage, one) => {
    const election = one.answering
    const status = election?.status()
    const generation = status?.generation ?? status?.draining?.generation
    if (election == null || generation == null) return
    const late = stage.world.random.chance(0.3)
    stage.world.tell(`drained ${late ? generation - 1 : generation} at ${one.host.name}`)
    if (late) election.drained(generation - 1)
    else {
      stage.checks.drained(one, generation)
      election.drained(generation)
    }
  },
}

/** Mostly whoever leads: that is where it hurts. */
function victim(stage: Stage): Candidate {
  const leader = stage.candidates.find(({ answering }) => answering?.status().leading)
  return leader !== undefined && stage.world.random.chance(0.6)
    ? leader
    : stage.world.random.pick(stage.candidates)
}

/** Plans faults at random until `untilMs`, each of them over by then. */
export function planFaults(stage: Stage, untilMs: number, everyMs: number): void {
  const { world, timing } = stage
  const names = Object.keys(FAULTS)
  const next = (): void => {
    const leftMs = untilMs - world.nowMs
    if (leftMs < timing.ttlMs / 2) return
    const fault = FAULTS[world.random.pick(names)] as Fault
    const lastsMs = Math.min(
      leftMs - 10,
      world.random.between(0, world.random.pick([1, 1, 3]) * timing.ttlMs),
    )
    fault(stage, victim(stage), lastsMs)
    world.in(world.random.between(0, 2 * everyMs), next)
  }
  world.in(world.random.between(0, everyMs), next)
}
