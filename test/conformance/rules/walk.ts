import assert from 'node:assert/strict'
import type { TenureKey } from '../../../src/election/tenure.ts'
import { ManualClock } from '../../support/clock.ts'
import type { Bench, Contender, Rule } from '../harness.ts'
import { TTL_MS } from '../harness.ts'

const STEPS = 150
const SEEDS = [1, 2, 3]
/** Two of these leave a lease alive, three do not: never near the expiry, whatever real time adds. */
const FORWARD_MS = (TTL_MS * 5) / 12

/** What the store should hold, told by the contract alone. */
class Model {
  generation = 0
  session: string | null = null
  leftMs = 0

  get live(): boolean {
    return this.session !== null && this.leftMs > 0
  }

  names(tenure: TenureKey): boolean {
    return this.session === tenure.session && this.generation === tenure.generation
  }
}

/** One random history: each answer and each view must be what the model says. */
async function walk(bench: Bench, seed: number): Promise<void> {
  const random = new ManualClock({ seed })
  const pick = (count: number) => Math.floor(random.random() * count)
  const election = `${bench.election}-${seed}`
  const contenders = await Promise.all(['a', 'b', 'c'].map((who) => bench.contender(who, election)))
  const tenures: TenureKey[] = []
  const model = new Model()
  const log: string[] = []

  for (let step = 0; step < STEPS; step++) {
    const who = contenders[pick(contenders.length)]
    assert.ok(who !== undefined)
    const tenure = tenures[Math.max(0, tenures.length - 1 - pick(3))]
    const act = pick(5)
    if (act <= 1) await tryAcquire(who, model, tenures, pick(4) === 0)
    else if (act === 2 && tenure !== undefined) await tryRenew(who, model, tenure)
    else if (act === 3 && tenure !== undefined && pick(2) === 0) await tryRelease(who, model, tenure)
    else {
      await bench.harness.forwardMs(FORWARD_MS)
      model.leftMs -= FORWARD_MS
    }
    log.push(`${act}`)
    const view = await who.current()
    const history = `seed ${seed}, acts ${log.join('')}`
    assert.equal(view?.generation ?? 0, model.generation, history)
    assert.equal(view?.session ?? null, model.session, history)
    assert.equal((view?.remainingMs ?? 0) > 0, model.live, history)
  }
}

async function tryAcquire(who: Contender, model: Model, tenures: TenureKey[], low: boolean): Promise<void> {
  const { session } = who.candidate
  const above = low ? Math.max(0, model.generation - 1) : model.generation
  const allowed = (!model.live || model.session === session) && above >= model.generation
  const result = await who.acquire(above)
  if (!allowed) return assert.equal(result.kind, 'refused')
  if (result.kind !== 'granted') return assert.fail('an acquire was refused that the contract grants')
  assert.ok(result.generation > model.generation)
  Object.assign(model, { generation: result.generation, session, leftMs: TTL_MS })
  tenures.push({ election: who.election, session, generation: result.generation })
}

async function tryRenew(who: Contender, model: Model, tenure: TenureKey): Promise<void> {
  const expected = model.names(tenure) && model.live ? 'granted' : 'lost'
  assert.equal(await who.renew(tenure), expected)
  if (expected === 'granted') model.leftMs = TTL_MS
}

async function tryRelease(who: Contender, model: Model, tenure: TenureKey): Promise<void> {
  const expected = model.names(tenure) ? 'released' : 'lost'
  assert.equal(await who.release(tenure), expected)
  if (expected === 'released') model.session = null
}

export const walkRules: readonly Rule[] = [
  [
    `${SEEDS.length} random histories of ${STEPS} requests are answered as the contract says`,
    async (bench) => {
      for (const seed of SEEDS) await walk(bench, seed)
    },
  ],
]
