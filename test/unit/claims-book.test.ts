import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClaimBook } from '../../src/claims/index.ts'
import { CLAIMS_MOST, PATHS_MOST } from '../../src/claims/limits.ts'
import { ManualClock } from '../support/clock.ts'

function setup(defaultTtlMs = 1_000) {
  const clock = new ManualClock()
  const book = new ClaimBook({ workspace: 'srv', defaultTtlMs, clock })
  return { clock, book }
}

test('all paths are granted or none, and every conflict is named with its holder and age', () => {
  const { clock, book } = setup()
  assert.ok(book.acquire({ holder: 'ada', paths: ['/srv/src', '/srv/README.md'] }).granted)
  clock.advance(100)
  book.acquire({ holder: 'cy', paths: ['/srv/docs/'], ttlMs: 50 })
  const answer = book.acquire({ holder: 'bob', paths: ['/srv/free', '/srv/src/app.ts', '/srv'] })
  assert.ok(!answer.granted && answer.reason === 'conflict')
  const held = (path: string, heldPath: string, holder: string, heldForMs: number, expiresInMs: number) => {
    return { path, heldPath, holder, heldForMs, expiresInMs, pinned: false }
  }
  const byPath = (a: { path: string; heldPath: string }, b: { path: string; heldPath: string }) =>
    `${a.path}${a.heldPath}` < `${b.path}${b.heldPath}` ? -1 : 1
  assert.deepEqual(
    answer.conflicts.toSorted(byPath),
    [
      held('/srv', '/srv/README.md', 'ada', 100, 900),
      held('/srv', '/srv/docs/', 'cy', 0, 50),
      held('/srv', '/srv/src', 'ada', 100, 900),
      held('/srv/src/app.ts', '/srv/src', 'ada', 100, 900),
    ].toSorted(byPath),
  )
  assert.equal(book.covering('bob', '/srv/free').verdict, 'free')
})

test('a path given twice is one claim', () => {
  const { book } = setup()
  const answer = book.acquire({ holder: 'ada', paths: ['/srv/', '/srv', '//srv'] })
  assert.ok(answer.granted)
  assert.deepEqual(
    answer.claims.map(({ path }) => path),
    ['/srv/'],
  )
})

test('a claim ends exactly with its ttl, by the clock that counts suspend', () => {
  const { clock, book } = setup(1_000)
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  clock.advance(999)
  assert.equal(book.covering('ada', '/srv').verdict, 'own')
  clock.stepWall(1_000_000)
  assert.equal(book.covering('ada', '/srv').verdict, 'own', 'the wall clock is not asked')
  clock.advanceSuspended(1)
  assert.equal(book.covering('ada', '/srv').verdict, 'free')
  assert.ok(book.acquire({ holder: 'bob', paths: ['/srv'] }).granted)
})

test('nothing waits on a timer', () => {
  const { clock, book } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  book.waitAttempt({ holder: 'bob', paths: ['/srv'], waitMs: 10 })
  assert.equal(clock.timers, 0)
})

test("to acquire one's own again refreshes the clock and stacks nothing", () => {
  const { clock, book } = setup(1_000)
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  clock.advance(600)
  const again = book.acquire({ holder: 'ada', paths: ['/srv/'] })
  assert.ok(again.granted)
  assert.deepEqual([again.claims[0]?.heldForMs, again.claims[0]?.expiresInMs], [600, 1_000])
  clock.advance(600)
  assert.equal(book.covering('ada', '/srv').verdict, 'own')
  assert.deepEqual(book.release('ada').released, ['/srv/'])
  assert.ok(book.acquire({ holder: 'bob', paths: ['/srv'] }).granted, 'released once is released')
})

test('a refresh may also shorten', () => {
  const { clock, book } = setup(1_000)
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  book.acquire({ holder: 'ada', paths: ['/srv'], ttlMs: 10 })
  clock.advance(10)
  assert.equal(book.covering('ada', '/srv').verdict, 'free')
})

test("claims above and below each other are one holder's right, and each is a claim of its own", () => {
  const { book } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv/src'] })
  assert.ok(book.acquire({ holder: 'ada', paths: ['/srv', '/srv/src/deep'] }).granted)
  assert.deepEqual(book.release('ada', ['/srv']).released, ['/srv'])
  assert.equal(book.covering('ada', '/srv/src').verdict, 'own', 'what was claimed below stays')
  assert.equal(book.covering('ada', '/srv/other').verdict, 'free')
})

test('a release of what is not held exactly so changes nothing, and says so', () => {
  const { book } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv/src'] })
  const answer = book.release('ada', ['/srv/src/app.ts', '/srv', '/srv/src/', '/nowhere'])
  assert.deepEqual(answer.released, ['/srv/src'])
  assert.deepEqual(answer.notHeld, ['/srv/src/app.ts', '/srv', '/nowhere'])
  assert.deepEqual(book.release('ada', ['/srv/src']).notHeld, ['/srv/src'], 'twice is no error')
})

test("nobody can release another's claim", () => {
  const { book } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  assert.deepEqual(book.release('bob', ['/srv']).released, [])
  assert.deepEqual(book.release('bob').released, [])
  assert.deepEqual(book.releaseHolder('bob').released, [])
  assert.equal(book.covering('ada', '/srv').verdict, 'own')
})

test('covering tells own, other and free apart, in both directions', () => {
  const { book } = setup()
  book.acquire({ holder: 'ada', paths: ['/srv/src'] })
  assert.equal(book.covering('ada', '/srv/src/app.ts').verdict, 'own')
  assert.equal(book.covering('ada', '/srv').verdict, 'free', 'own below is not own above')
  assert.equal(book.covering('bob', '/srv').verdict, 'other', 'writing above would hit what is below')
  assert.equal(book.covering('bob', '/srv/src/app.ts').claim?.holder, 'ada')
  assert.equal(book.covering('bob', '/srv/docs').verdict, 'free')
  assert.equal(book.covering('bob', '/srv/docs').claim, null)
})

test('releaseHolder takes all of one holder and ends its waits, releaseAll of everybody', async () => {
  const { book } = setup()
  book.acquire({ holder: 'ada', paths: ['/a', '/b'] })
  book.acquire({ holder: 'bob', paths: ['/c'] })
  const wait = book.waitAttempt({ holder: 'ada', paths: ['/c'], waitMs: 100 })
  assert.ok('changed' in wait)
  const answer = book.releaseHolder('ada')
  assert.deepEqual([answer.released.toSorted(), answer.waitsEnded], [['/a', '/b'], 1])
  await wait.changed
  assert.equal(book.covering('bob', '/c').verdict, 'own')
  book.waitAttempt({ holder: 'cy', paths: ['/c'], waitMs: 100 })
  assert.deepEqual(book.releaseAll().released, ['/c'])
  assert.deepEqual([book.status().claims, book.status().waits], [[], []])
})

test('what a reader got cannot change the book', () => {
  const { book } = setup()
  const paths = ['/srv/src']
  const granted = book.acquire({ holder: 'ada', paths })
  paths[0] = '/etc'
  const before = JSON.stringify(book.status())
  const wreck = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const key of Object.keys(value)) {
      wreck(Reflect.get(value, key))
      Reflect.set(value, key, 'wrecked')
    }
    if (Array.isArray(value)) value.length = 0
  }
  wreck(granted)
  wreck(book.acquire({ holder: 'bob', paths: ['/srv'] }))
  wreck(book.covering('ada', '/srv/src'))
  wreck(book.pin('ada', '/nowhere'))
  wreck(book.status())
  wreck(book.release('ada', ['/nowhere']))
  assert.equal(JSON.stringify(book.status()), before)
})

test('status shows claims, waits and pins from one instant', () => {
  const { clock, book } = setup(1_000)
  book.acquire({ holder: 'ada', paths: ['/srv/src/'] })
  clock.advance(250)
  book.pin('ada', '/srv/src/app.ts', { forMs: 5_000 })
  book.waitAttempt({ holder: 'bob', paths: ['/srv'], waitMs: 400 })
  book.waitAttempt({ holder: 'cy', paths: ['/srv/src', '/x'], waitMs: 300 })
  clock.advance(50)
  const at = clock.date()
  const { epoch, ...status } = book.status()
  assert.equal(epoch, book.epoch)
  assert.deepEqual(status, {
    workspace: 'srv',
    at: new Date(at).toISOString(),
    claims: [
      {
        path: '/srv/src/',
        holder: 'ada',
        claimGeneration: 1,
        ttlMs: 1_000,
        heldForMs: 300,
        expiresInMs: 700,
        pins: 1,
        ends: null,
        acquiredAt: new Date(at - 300).toISOString(),
        expiresAt: new Date(at + 700).toISOString(),
      },
    ],
    waits: [
      {
        holder: 'bob',
        paths: ['/srv'],
        waitingForMs: 50,
        endsInMs: 350,
        waitsFor: ['ada'],
        waitsForMore: false,
      },
      {
        holder: 'cy',
        paths: ['/srv/src', '/x'],
        waitingForMs: 50,
        endsInMs: 250,
        waitsFor: ['ada', 'bob'],
        waitsForMore: false,
      },
    ],
    pins: [{ path: '/srv/src/', holder: 'ada', claimGeneration: 1, pinnedForMs: 50, endsInMs: 4_950 }],
  })
})

test('every answer carries the epoch, and another book has another', () => {
  const { book } = setup()
  const other = new ClaimBook({ workspace: 'srv' })
  assert.notEqual(book.epoch, other.epoch)
  const answers = [
    book.acquire({ holder: 'ada', paths: ['/a'] }),
    book.acquire({ holder: 'bob', paths: ['/a'] }),
    book.waitAttempt({ holder: 'bob', paths: ['/a'], waitMs: 10 }),
    book.waitAttempt({ holder: 'bob', paths: ['/a'], waitMs: 0 }),
    book.covering('ada', '/a'),
    book.covering('ada', '..'),
    book.pin('ada', '/a'),
    book.pin('bob', '/a'),
    book.unpin('none'),
    book.release('ada'),
    book.releaseHolder('ada'),
    book.releaseAll(),
    book.status(),
  ]
  for (const { epoch } of answers) assert.equal(epoch, book.epoch)
})

test('a request that no program means is refused loudly', () => {
  const { book } = setup()
  const bad: (() => unknown)[] = [
    () => book.acquire({ holder: '', paths: ['/a'] }),
    () => book.acquire({ holder: 'a\nb', paths: ['/a'] }),
    () => book.acquire({ holder: 'x'.repeat(201), paths: ['/a'] }),
    () => book.acquire({ holder: 'ada', paths: [] }),
    () => book.acquire({ holder: 'ada', paths: Array.from({ length: PATHS_MOST + 1 }, (_, i) => `/${i}`) }),
    () => book.acquire({ holder: 'ada', paths: '/srv' as unknown as string[] }),
    () => book.acquire({ holder: 'ada', paths: [7 as unknown as string] }),
    () => book.waitAttempt({ holder: 'ada', paths: ['/a'], waitMs: -1 }),
    () => book.waitAttempt({ holder: 'ada', paths: ['/a'], waitMs: 2 ** 40 }),
    () => book.pin('ada', '/a', { forMs: 0 }),
    () => new ClaimBook({ workspace: '' }),
  ]
  for (const ttlMs of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 86_400_001]) {
    bad.push(() => book.acquire({ holder: 'ada', paths: ['/a'], ttlMs }))
    bad.push(() => new ClaimBook({ workspace: 'srv', defaultTtlMs: ttlMs }))
  }
  for (const act of bad) assert.throws(act, RangeError, String(act))
  assert.deepEqual(book.status().claims, [])
})

test('a full book refuses new claims and still refreshes old ones', () => {
  const { book } = setup(100_000)
  const paths = Array.from({ length: CLAIMS_MOST }, (_, i) => `/srv/${i}`)
  for (let i = 0; i < CLAIMS_MOST; i += PATHS_MOST) {
    assert.ok(book.acquire({ holder: 'ada', paths: paths.slice(i, i + PATHS_MOST) }).granted)
  }
  const answer = book.acquire({ holder: 'bob', paths: ['/more'] })
  assert.ok(!answer.granted && answer.reason === 'too_many_claims')
  assert.ok(book.acquire({ holder: 'ada', paths: ['/srv/7'] }).granted)
  book.release('ada', ['/srv/7'])
  assert.ok(book.acquire({ holder: 'bob', paths: ['/more'] }).granted)
})

test('a clock that steps back by a defect does not bring time back', () => {
  const clock = new ManualClock()
  let backMs = 0
  const now = () => ({ ...clock.now(), bootMs: clock.now().bootMs - backMs })
  const shaky = {
    now,
    date: () => clock.date(),
    after: () => () => {},
    random: () => 0,
    uuid: () => clock.uuid(),
    bootClockId: 'shaky',
  }
  const book = new ClaimBook({ workspace: 'srv', defaultTtlMs: 100, clock: shaky })
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  clock.advance(90)
  book.status()
  backMs = 50
  clock.advance(10)
  assert.equal(book.covering('ada', '/srv').claim?.expiresInMs, 10)
})
