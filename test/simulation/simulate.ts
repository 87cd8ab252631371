/** One seed, one world: a random deployment, random faults, a quiet end. */
import { deriveTiming, type Timing } from '../../src/election/timing.ts'
import { Candidate } from './candidate.ts'
import { Checks } from './checks.ts'
import { planFaults, type Stage } from './faults.ts'
import { Host } from './host.ts'
import { LeaseServer } from './lease-server.ts'
import type { Random } from './random.ts'
import { World } from './world.ts'

/** How many ttls of trouble one seed lasts. */
const TROUBLE_TTLS = 24
/** What polling, a late timer and one request may add to the ttl and one second of G6. */
const HEALING_SLACK_MS = 200

export interface Run {
  readonly seed: number
  readonly simulatedMs: number
  readonly tenures: number
  readonly answers: number
  /** The breach that ended the run; null when every check held. */
  readonly breach: Error | null
  readonly story: readonly string[]
}

/** Sound settings of many shapes; a third of them with a margin below the attempt timeout. */
function randomTiming(random: Random): Timing {
  const ttlMs = random.pick([1_000, 3_000, 5_000, 15_000])
  if (random.chance(2 / 3)) return deriveTiming({ ttlMs })
  const marginMs = Math.ceil(ttlMs / 40)
  const renewEveryMs = Math.floor(ttlMs / 4)
  const windowMs = ttlMs - marginMs - renewEveryMs
  const backoffMs = Math.floor(windowMs / 20)
  const attemptTimeoutMs = Math.floor((windowMs - backoffMs) / 2)
  return deriveTiming({ ttlMs, marginMs, renewEveryMs, backoffMs, attemptTimeoutMs })
}

/** Clocks whose drift over one ttl stays below a tenth of the margin. */
function randomRate(random: Random, timing: Timing): number {
  const mostDrift = timing.marginMs / 10 / timing.ttlMs
  return 1 + random.between(-mostDrift, mostDrift) / 2
}

function build(world: World): Stage {
  const { random } = world
  const timing = randomTiming(random)
  const drainMs = random.pick([0, 0, 0, timing.ttlMs / 4])
  const candidates: Candidate[] = []
  const checks = new Checks(world, candidates)
  const server = new LeaseServer(world, randomRate(random, timing), (write) => checks.write(write))
  const parts = {
    world,
    server,
    timing,
    drainMs,
    onAnswer: checks.answered.bind(checks),
  }
  for (const name of ['a', 'b', 'c', 'd', 'e'].slice(0, random.pick([2, 3, 3, 5]))) {
    candidates.push(new Candidate(new Host(name, world, randomRate(random, timing)), parts))
  }
  world.tell(`${candidates.length} candidates, drain ${drainMs} ms, ${JSON.stringify(timing)}`)
  // G7 leaves this much: the margin, less drift and the grain of the clocks.
  const stepForwardMs = Math.max(0, timing.marginMs * 0.7 - 10)
  return {
    world,
    server,
    candidates,
    checks,
    timing,
    stepForwardMs,
    backwardMs: 0,
    rewound: false,
    steppedAtMs: -1e9,
  }
}

export async function simulate(seed: number): Promise<Run> {
  const world = new World(seed)
  const stage = build(world)
  const { timing, candidates, checks } = stage
  const troubleMs = TROUBLE_TTLS * timing.ttlMs
  for (const one of candidates)
    world.in(world.random.between(0, timing.ttlMs), () => one.alive || one.start())
  planFaults(stage, troubleMs, world.random.pick([0.3, 1, 3]) * timing.ttlMs)
  const end = (breach: Error | null): Run => {
    const { tenures, answers } = checks
    return { seed, simulatedMs: world.nowMs, tenures, answers, breach, story: world.story }
  }
  try {
    await world.run(troubleMs, () => checks.always())
    heal(stage)
    await world.run(world.nowMs + healingMs(stage), () => checks.always())
    checks.healed()
    return end(null)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    world.tell(`BREACH ${error.message}`)
    return end(error)
  }
}

/** Everybody who is to come back is back, and stands. */
function heal(stage: Stage): void {
  for (const one of stage.candidates) {
    if (!one.host.running) one.host.resume()
    if (one.stopping) one.kill()
    if (!one.alive) one.start()
  }
  stage.world.tell('all faults are over')
}

/** G6: ttl + 1 s, the store clock's steps back, and after a rewind one observed ttl. */
function healingMs(stage: Stage): number {
  const { ttlMs } = stage.timing
  return ttlMs + 1_000 + stage.backwardMs + (stage.rewound ? ttlMs : 0) + HEALING_SLACK_MS
}
