/** What strangers ask of the book is done in bounded time, and answered in bounded length. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClaimDesk, type DeskAnswer } from '../../src/claims/desk.ts'
import { ClaimBook } from '../../src/claims/index.ts'
import { NAMES_SOME, WAITS_MOST } from '../../src/claims/limits.ts'
import { ManualClock, settle } from '../support/clock.ts'

const CLAIMS = 2_000
const IN_ONE_REQUEST = 32
/** No step may keep the event loop from an election for longer. It is meant for a slow machine. */
const STEP_MOST_MS = 250
/** A relative path collides with every absolute claim. */
const RELATIVE = Array.from({ length: IN_ONE_REQUEST }, (_, i) => `r${i}`)
const signal = new AbortController().signal

function setup() {
  const clock = new ManualClock()
  const desk = new ClaimDesk({
    workspace: 'srv',
    claimsMost: CLAIMS,
    clock,
    standing: () => ({ valid: true, tenure: 'one' }),
  })
  const wait = (holder: string, paths: readonly string[], waitMs = 60_000): Promise<DeskAnswer> =>
    desk.acquireWithin({ holder, paths, ttlMs: 1_000, token: null }, waitMs, signal)
  return { clock, desk, wait }
}

/**
 * Runs a step, and what it wakes up. By the processor time of this process: what else runs on the machine does not
 * count.
 */
async function assertQuick(what: string, step: () => void): Promise<void> {
  const before = process.cpuUsage()
  step()
  await settle()
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1_000
  assert.ok(ms < STEP_MOST_MS, `${what}: ${ms} ms`)
}

/** Claims of as many owners, each with an end of its own. */
function fill(desk: ClaimDesk, path: (i: number) => string): string[] {
  return Array.from({ length: CLAIMS }, (_, i) => {
    const answer = desk.acquire({ holder: `h${i}`, paths: [path(i)], ttlMs: 100_000 + i, token: null })
    assert.ok('token' in answer)
    return answer.token
  })
}

function refusal(answer: DeskAnswer) {
  assert.ok('granted' in answer && !answer.granted)
  return answer
}

test('waits for many paths that collide with every claim do not keep the event loop', async () => {
  const { clock, desk, wait } = setup()
  const [first = ''] = fill(desk, (i) => `/p/${i}`)
  const ask = (): void => void desk.acquire({ holder: 'new', paths: RELATIVE, ttlMs: 1_000, token: null })
  const answers: Promise<DeskAnswer>[] = []
  for (let i = 0; i < WAITS_MOST; i++) {
    await assertQuick(`wait ${i}`, () => answers.push(wait(`w${i}`, RELATIVE, 200_000 + i)))
  }
  const late = wait('late', RELATIVE)
  await assertQuick('one more', () => void wait('later', RELATIVE))
  assert.equal(refusal(await late).reason, 'too_many_waits')
  await assertQuick('status', () => void desk.status())
  await assertQuick('acquire', ask)
  await assertQuick('release of one', () => void desk.release(first, null))
  await assertQuick('expiry of half', () => clock.advance(101_000))
  await assertQuick('expiry of all', () => clock.advance(1_000))
  assert.ok('token' in ((await answers[0]) ?? {}), 'the first is granted when all are gone')
})

test('waits that end all at once do not keep the event loop, and are told what is in the way', async () => {
  const { clock, desk, wait } = setup()
  fill(desk, (i) => `/p/${i}`)
  const answers = Array.from({ length: WAITS_MOST }, (_, i) => wait(`w${i}`, RELATIVE))
  await assertQuick('end of all', () => clock.advance(60_000))
  for (const answer of await Promise.all(answers)) {
    const { reason, conflicts } = refusal(answer)
    assert.deepEqual([reason, conflicts.length], ['timeout', NAMES_SOME.most])
  }
})

test('an answer to a stranger names so many in the way, and counts some of the others', async () => {
  const { desk, wait } = setup()
  const long = 'x'.repeat(4_000)
  const tokens = fill(desk, (i) => `/${i}/${long}`)
  const conflict = refusal(desk.acquire({ holder: 'new', paths: RELATIVE, ttlMs: 1_000, token: null }))
  assert.deepEqual(
    [conflict.conflicts.length, conflict.conflictsLeftOff, conflict.aheadLeftOff],
    [NAMES_SOME.most, NAMES_SOME.lookedAtMost - NAMES_SOME.most, 0],
  )
  assert.ok(JSON.stringify(conflict).length < 300_000)
  const waits = [1, 2, 3].map((i) => wait(`w${i}`, RELATIVE))
  const ahead = refusal(desk.acquire({ holder: 'new', paths: RELATIVE, ttlMs: 1_000, token: null }))
  assert.deepEqual([ahead.ahead.length, ahead.aheadLeftOff], [NAMES_SOME.most, 96 - NAMES_SOME.most])
  const status = desk.status()
  assert.ok('waits' in status)
  assert.deepEqual(
    status.waits.map(({ waitsFor, waitsForMore }) => [waitsFor.length, waitsForMore]),
    waits.map(() => [NAMES_SOME.most, true]),
  )
  for (const token of tokens.slice(NAMES_SOME.most - 2)) desk.release(token, null)
  const few = desk.status()
  assert.ok('waits' in few)
  assert.deepEqual(
    few.waits.map(({ waitsFor, waitsForMore }) => [waitsFor.length, waitsForMore]),
    [
      [NAMES_SOME.most - 2, false],
      [NAMES_SOME.most - 1, false],
      [NAMES_SOME.most, false],
    ],
  )
})

test('the owner of a book is named everything in the way', () => {
  const book = new ClaimBook({ workspace: 'srv', clock: new ManualClock() })
  for (let i = 0; i < 100; i++) book.acquire({ holder: `h${i}`, paths: [`/${i}`] })
  for (let i = 0; i < 100; i++) book.waitAttempt({ holder: `w${i}`, paths: ['/w', '/0'], waitMs: 1_000 })
  const refused = book.acquire({ holder: 'new', paths: RELATIVE })
  assert.ok(!refused.granted)
  assert.deepEqual(
    [refused.conflicts.length, refused.conflictsLeftOff, refused.ahead.length, refused.aheadLeftOff],
    [3_200, 0, 6_400, 0],
  )
})

test('a wait with more blockers than it looks at for the time wakes up, and is granted with the last', async () => {
  const { clock, desk, wait } = setup()
  for (let i = 0; i < 50; i++) {
    desk.acquire({ holder: `h${i}`, paths: [`/${i}`], ttlMs: 10_000 - i * 100, token: null })
  }
  let granted = false
  const done = wait('w', ['r']).then((answer) => {
    granted = 'token' in answer
  })
  await clock.elapse(9_999)
  assert.equal(granted, false)
  await clock.elapse(1)
  await done
  assert.equal(granted, true)
})
