import assert from 'node:assert/strict'
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TenureKey } from '../../src/election/tenure.ts'
import type { LeaseStore } from '../../src/stores/store.ts'
import { attempt, candidate } from '../conformance/harness.ts'
import { SqlitePlace } from '../conformance/sqlite-place.ts'
import { ManualClock } from '../support/clock.ts'

const ELECTION = 'fleet'
const TTL_MS = 10_000
/** Long enough for the holder to hear of a lost content by its watch. */
const MARGIN_MS = 2_000
const STEP_MS = 100
const STEPS = 2_000
const SEEDS = [1, 2, 3, 4, 5]

/** A candidate as simple as can be: believes until its deadline, asks when told to or when it is time. */
class Believer {
  readonly #store: LeaseStore
  readonly #clock: ManualClock
  readonly #who = candidate()
  tenure: (TenureKey & { untilMs: number }) | null = null
  highest = 0
  #askAtMs = 0

  constructor(store: LeaseStore, clock: ManualClock) {
    this.#store = store
    this.#clock = clock
    store.watch?.(ELECTION, () => {
      this.#askAtMs = 0
    })
  }

  get believes(): boolean {
    return this.tenure !== null && this.#nowMs() < this.tenure.untilMs
  }

  async step(): Promise<void> {
    if (this.#nowMs() < this.#askAtMs) return
    if (this.believes && this.tenure !== null) await this.#renew(this.tenure)
    else await this.#acquire()
  }

  async resign(): Promise<void> {
    const tenure = this.tenure
    this.tenure = null
    if (tenure !== null) await this.#store.release(tenure, attempt())
    this.#askAtMs = this.#nowMs() + TTL_MS / 2
  }

  async #renew(tenure: TenureKey): Promise<void> {
    const sentAtMs = this.#nowMs()
    const result = await this.#store.renew(tenure, TTL_MS, attempt())
    if (result.kind === 'granted') this.#hold(tenure, sentAtMs)
    if (result.kind === 'lost') this.tenure = null
  }

  async #acquire(): Promise<void> {
    const sentAtMs = this.#nowMs()
    const options = { ttlMs: TTL_MS, above: this.highest }
    const result = await this.#store.acquire(ELECTION, this.#who, options, attempt())
    if (result.kind === 'contended') return
    if (result.kind === 'granted') {
      assert.ok(result.generation > this.highest, 'a generation went back')
      this.#hold({ election: ELECTION, session: this.#who.session, generation: result.generation }, sentAtMs)
    } else this.#askAtMs = sentAtMs + Math.min(result.remainingMs ?? TTL_MS, TTL_MS / 2)
    this.highest = Math.max(this.highest, result.generation)
  }

  #hold(tenure: TenureKey, sentAtMs: number): void {
    this.tenure = { ...tenure, untilMs: sentAtMs + TTL_MS - MARGIN_MS }
    this.#askAtMs = sentAtMs + TTL_MS / 2
  }

  #nowMs(): number {
    return this.#clock.now().bootMs
  }
}

/** What may befall the file, by chance. */
function meddle(place: SqlitePlace, random: ManualClock): string | null {
  const backup = join(place.folder.path, 'backup.db')
  const fresh = join(place.folder.path, 'fresh.db')
  switch (Math.floor(random.random() * 200)) {
    case 0:
      copyFileSync(backup, fresh)
      renameSync(fresh, place.path)
      return 'replaced'
    case 1:
      rmSync(place.path, { force: true })
      return 'removed'
    case 2:
      copyFileSync(backup, place.path)
      return 'restored'
    case 3:
    case 4:
    case 5:
      if (existsSync(place.path)) copyFileSync(place.path, backup)
      return 'copied'
    default:
      return null
  }
}

for (const seed of SEEDS) {
  test(`files replaced, removed and restored under open stores never let two lead at once (seed ${seed})`, async () => {
    const place = new SqlitePlace()
    const random = new ManualClock({ seed })
    try {
      const all: Believer[] = []
      for (let i = 0; i < 3; i++) {
        const clock = place.machine.sibling()
        all.push(new Believer(await place.open(clock), clock))
      }
      copyFileSync(place.path, join(place.folder.path, 'backup.db'))
      const met = new Map<string, number>()
      let led = 0
      for (let step = 0; step < STEPS; step++) {
        const what = meddle(place, random)
        if (what !== null) met.set(what, (met.get(what) ?? 0) + 1)
        for (const one of all) await one.step()
        const leaders = all.filter((one) => one.believes)
        assert.ok(leaders.length <= 1, `two lead at step ${step} of seed ${seed}, after ${what}`)
        led += leaders.length
        if (random.random() < 0.005) await leaders[0]?.resign()
        place.machine.advance(STEP_MS)
      }
      assert.ok(led > STEPS / 10, 'somebody led for a good part of the time')
      assert.ok((met.get('replaced') ?? 0) + (met.get('removed') ?? 0) + (met.get('restored') ?? 0) > 5)
    } finally {
      await place.close()
    }
  })
}
