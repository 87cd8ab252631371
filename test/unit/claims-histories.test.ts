/** Random histories of the claim book, against the plainest model of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Attempt, ClaimBook, type NotWaited, type Refused, type Ticket } from '../../src/claims/index.ts'
import { ManualClock } from '../support/clock.ts'
import { isReadable, Model, type ModelWait, overlap } from './claims-model.ts'

const RUNS = 3_000

const DEEP_PATHS = ['/a', '/a/', '//a//b', '/a/b', '/a/./b/c', '/a/b/d', '/ab', '/b', '/b/c', '/c', '/c/d']
const WIDE_PATHS = ['/', '.', 'a', 'a/b', './a/', 'b']
const BAD_PATHS = ['', '..', '/a/../b', 'a\\b']
const HOLDERS = ['ada', 'bob', 'cy', 'di']

const holder = fc.constantFrom(...HOLDERS)
const onePath = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...DEEP_PATHS) },
  { weight: 4, arbitrary: fc.constantFrom(...WIDE_PATHS) },
  { weight: 1, arbitrary: fc.constantFrom(...BAD_PATHS) },
)
const paths = fc.array(onePath, { minLength: 1, maxLength: 3 })
const ttlMs = fc.integer({ min: 1, max: 80 })
const which = fc.nat(20)
/** Takes holder and path of a claim that there is. */
const aim = fc.option(which)
const waitMs = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 80 }) },
)
const forMs = fc.option(fc.integer({ min: 1, max: 60 }), { freq: 2 })
const ms = fc.integer({ min: 0, max: 45 })

function kind<K extends string, T extends object>(
  weight: number,
  name: K,
  rest: { [P in keyof T]: fc.Arbitrary<T[P]> },
) {
  return { weight, arbitrary: fc.record<T & { do: K }>({ do: fc.constant(name), ...rest } as never) }
}

const step = fc.oneof(
  kind(6, 'acquire', { holder, paths, ttlMs, aim }),
  kind(4, 'wait', { holder, paths, ttlMs, waitMs }),
  kind(5, 'again', { which }),
  kind(1, 'endWait', { which }),
  kind(3, 'release', { holder, paths: fc.option(paths), aim }),
  kind(1, 'releaseHolder', { holder }),
  kind(5, 'pin', { holder, path: onePath, forMs, aim }),
  kind(4, 'unpin', { which: fc.nat(3) }),
  kind(5, 'advance', { ms }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface Waiting {
  readonly ticket: Ticket
  readonly wait: ModelWait
  told: boolean
}

/** How often each outcome was met, over all histories: a test that meets none tests nothing. */
const met = new Map<string, number>()

function meet(outcome: string): void {
  met.set(outcome, (met.get(outcome) ?? 0) + 1)
}

const OUTCOMES = [
  'acquire granted',
  'acquire conflict',
  'acquire bad_path',
  'wait granted',
  'wait waiting',
  'wait cycle',
  'wait timeout',
  'wait bad_path',
  'again granted',
  'again waiting',
  'again timeout',
  'again cancelled',
  'released',
  'deferred',
  'pinned',
  'not pinned',
  'unpinned',
  'unpinned expired',
  'unpinned released',
  'unpinned replaced',
  'pin unknown',
  'conflict with an end by a pin',
]
const MET_LEAST = 5

class History {
  readonly clock = new ManualClock()
  readonly book = new ClaimBook({ workspace: 'srv', clock: this.clock })
  readonly model = new Model()
  readonly waiting: Waiting[] = []
  readonly tokens: string[] = []
  #checks = 0

  async perform(step: Step): Promise<void> {
    this.#take(this.#aimed(step))
    this.book.status() // expiry is lazy: this operation reaps, and tells
    await Promise.resolve()
    this.#check()
  }

  #aimed(step: Step): Step {
    if (!('aim' in step) || step.aim === null) return step
    const claim = this.model.claims[step.aim % this.model.claims.length]
    if (claim === undefined) return step
    const { holder, path } = claim
    return step.do === 'pin' ? { ...step, holder, path } : { ...step, holder, paths: [path] }
  }

  #take(step: Step): void {
    const { book, model } = this
    switch (step.do) {
      case 'acquire': {
        const expected = model.inTheWay(step.holder, step.paths, model.waits, true)
        const answer = book.acquire(step)
        const isFree = step.paths.every(isReadable) && expected.claims.length + expected.waits.length === 0
        assert.equal(answer.granted, isFree)
        meet(`acquire ${answer.granted ? 'granted' : answer.reason}`)
        if (answer.granted) model.grant(step.holder, step.paths, step.ttlMs)
        else this.#checkRefusal(answer, expected)
        return
      }
      case 'wait':
        this.#wait(step)
        return
      case 'again': {
        const waiting = this.waiting[step.which % this.waiting.length]
        if (waiting !== undefined) this.#again(waiting)
        return
      }
      case 'endWait': {
        const waiting = this.waiting[step.which % this.waiting.length]
        if (waiting === undefined) return
        const waited = model.waits.includes(waiting.wait)
        assert.equal(book.endWait(waiting.ticket), waited)
        model.waits = model.waits.filter((one) => one !== waiting.wait)
        return
      }
      case 'release': {
        const held = model.claims.filter((claim) => claim.holder === step.holder && !claim.ended)
        const answer = book.release(step.holder, step.paths ?? undefined)
        model.release(step.holder, step.paths)
        if (answer.released.length > 0) meet('released')
        if (answer.deferred.length > 0) meet('deferred')
        const ended = held.filter((claim) => claim.ended)
        assert.deepEqual(
          [...answer.released, ...answer.deferred].sort(),
          ended.map(({ path }) => path).sort(),
        )
        assert.deepEqual(
          [...answer.deferred].sort(),
          ended
            .filter(({ pins }) => pins > 0)
            .map(({ path }) => path)
            .sort(),
        )
        return
      }
      case 'releaseHolder': {
        const waits = model.waits.filter((wait) => wait.holder === step.holder)
        assert.equal(book.releaseHolder(step.holder).waitsEnded, waits.length)
        model.waits = model.waits.filter((wait) => wait.holder !== step.holder)
        model.release(step.holder, null)
        return
      }
      case 'pin': {
        const claim = model.pinnable(step.holder, step.path)
        const answer = book.pin(step.holder, step.path, step.forMs === null ? {} : { forMs: step.forMs })
        assert.equal(answer.pinned, claim !== null)
        meet(answer.pinned ? 'pinned' : 'not pinned')
        if (!answer.pinned || claim === null) return
        this.tokens.push(answer.pin)
        model.pin(claim, answer.pin, step.forMs ?? Number.POSITIVE_INFINITY)
        return
      }
      case 'unpin': {
        const token = this.tokens[step.which % this.tokens.length] ?? 'none'
        const answer = book.unpin(token)
        assert.equal(answer.unpinned, model.unpin(token))
        meet(answer.unpinned ? `unpinned ${answer.ended ?? ''}`.trim() : 'pin unknown')
        return
      }
      case 'advance':
        this.clock.advance(step.ms)
        model.advance(step.ms)
    }
  }

  #wait(step: Extract<Step, { do: 'wait' }>): void {
    const { book, model } = this
    const untilMs = model.nowMs + step.waitMs
    const wait: ModelWait = {
      holder: step.holder,
      paths: step.paths,
      ttlMs: step.ttlMs,
      untilMs,
      mayHold: true,
    }
    const blockers = model.blockersOf(wait)
    const answer = book.waitAttempt(step)
    const reason = answer.granted ? 'granted' : answer.reason
    assert.equal(reason, this.#expectedReason(wait, blockers))
    meet(`wait ${reason}`)
    if (answer.granted) model.grant(step.holder, step.paths, step.ttlMs)
    else if (answer.reason === 'waiting') this.#queue(answer, wait)
    else if ('cycle' in answer) this.#checkCycle(answer, blockers)
  }

  #expectedReason(wait: ModelWait, blockers: readonly string[]): string {
    const { model } = this
    if (!wait.paths.every(isReadable)) return 'bad_path'
    const { claims, waits } = model.inTheWay(wait.holder, wait.paths, model.waits, true)
    if (claims.length + waits.length === 0) return 'granted'
    if (wait.untilMs === model.nowMs) return 'timeout'
    return model.closesCycle(wait.holder, blockers) ? 'cycle' : 'waiting'
  }

  #queue(answer: Extract<Attempt, { reason: 'waiting' }>, wait: ModelWait): void {
    this.model.waits.push(wait)
    const waiting: Waiting = { ticket: answer.ticket, wait, told: false }
    this.#listen(answer, waiting)
    this.waiting.push(waiting)
  }

  #listen(answer: Extract<Attempt, { reason: 'waiting' }>, waiting: Waiting): void {
    waiting.told = false
    answer.changed.then(() => {
      waiting.told = true
    })
  }

  #again(waiting: Waiting): void {
    const { model, book } = this
    const { wait, ticket } = waiting
    const waits = model.waits.includes(wait)
    const blockers = model.blockersOf(wait)
    const answer = book.attemptAgain(ticket)
    meet(`again ${answer.granted ? 'granted' : answer.reason}`)
    if (!waits) {
      assert.ok(!answer.granted && ['timeout', 'cancelled'].includes(answer.reason))
      return
    }
    assert.equal(answer.granted, blockers.length === 0, 'granted exactly when nobody is in the way')
    if (!answer.granted) {
      assert.equal(answer.reason, 'waiting')
      if (answer.reason === 'waiting') this.#listen(answer, waiting)
      return
    }
    model.waits = model.waits.filter((one) => one !== wait)
    model.grant(wait.holder, wait.paths, wait.ttlMs)
  }

  #checkRefusal(answer: Refused, expected: ReturnType<Model['inTheWay']>): void {
    const { nowMs } = this.model
    const named = answer.conflicts.map(
      (one) => `${one.path} ${one.heldPath} ${one.holder} ${one.heldForMs} ${one.expiresInMs}`,
    )
    const due = expected.claims.map(
      ({ path, claim }) =>
        `${path} ${claim.path} ${claim.holder} ${nowMs - claim.sinceMs} ${this.model.endsInMs(claim)}`,
    )
    assert.deepEqual(named.sort(), due.sort())
    if (expected.claims.some(({ claim }) => claim.ended && this.model.endsInMs(claim) !== null)) {
      meet('conflict with an end by a pin')
    }
    const ahead = answer.ahead.map((one) => `${one.path} ${one.holder} ${one.endsInMs}`)
    const before = expected.waits.map(({ path, wait }) => `${path} ${wait.holder} ${wait.untilMs - nowMs}`)
    assert.deepEqual([...new Set(ahead)].sort(), [...new Set(before)].sort())
  }

  /** Each one of the cycle waits for the next, and the last for the first. */
  #checkCycle({ cycle }: NotWaited, first: readonly string[]): void {
    cycle.forEach((at, i) => {
      const next = cycle[(i + 1) % cycle.length] ?? ''
      const waitsFor = i === 0 ? [...first, ...this.model.waitsFor(at)] : this.model.waitsFor(at)
      assert.ok(waitsFor.includes(next), `${at} does not wait for ${next}`)
    })
  }

  #check(): void {
    const { model, book } = this
    const status = book.status()
    const shown = status.claims.map(
      (one) => `${one.path} ${one.holder} ${one.heldForMs} ${one.pins} ${one.expiresInMs}`,
    )
    const alive = model.claims.map((one) => {
      const expiresInMs = model.isCurrent(one) ? one.expiresMs - model.nowMs : 0
      return `${one.path} ${one.holder} ${model.nowMs - one.sinceMs} ${one.pins} ${expiresInMs}`
    })
    assert.deepEqual(shown.sort(), alive.sort())
    for (const one of status.claims) {
      for (const other of status.claims) {
        assert.ok(
          one.holder === other.holder || !overlap(one.path, other.path),
          `${one.path} and ${other.path}`,
        )
      }
    }
    assert.deepEqual(
      status.waits.map((one) => one.holder),
      model.waits.map((one) => one.holder),
    )
    for (const who of HOLDERS) assert.ok(!model.closesCycle(who, []), `${who} waits for itself`)
    const asker = HOLDERS[this.#checks++ % HOLDERS.length] ?? ''
    for (const path of [...DEEP_PATHS, ...WIDE_PATHS, ...BAD_PATHS]) {
      assert.equal(book.covering(asker, path).verdict, model.verdict(asker, path), `${asker} ${path}`)
    }
    for (const { wait, told } of this.waiting) {
      if (model.waits.includes(wait) && model.blockersOf(wait).length === 0)
        assert.ok(told, 'free to go, and not told')
    }
  }
}

test('any history of the book is one that the plainest model of it allows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
      const history = new History()
      for (const one of steps) await history.perform(one)
    }),
    { numRuns: RUNS },
  )
  for (const outcome of OUTCOMES) {
    assert.ok((met.get(outcome) ?? 0) >= MET_LEAST, `${outcome}: met ${met.get(outcome) ?? 0} times`)
  }
})
