import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClaimBook } from '../../src/claims/index.ts'
import { ManualClock } from '../support/clock.ts'

function newBook(ignoreCase = false): ClaimBook {
  return new ClaimBook({ workspace: 'srv', clock: new ManualClock(), ignoreCase })
}

/** Whether two holders can have the two paths at once. */
function collide(one: string, other: string, ignoreCase = false): boolean {
  const forth = newBook(ignoreCase)
  assert.ok(forth.acquire({ holder: 'ada', paths: [one] }).granted, one)
  const back = newBook(ignoreCase)
  assert.ok(back.acquire({ holder: 'ada', paths: [other] }).granted, other)
  const collides = !forth.acquire({ holder: 'bob', paths: [other] }).granted
  assert.equal(!back.acquire({ holder: 'bob', paths: [one] }).granted, collides, 'the same both ways')
  return collides
}

test('a claim covers what is below it, and is blocked by what is below it', () => {
  assert.ok(collide('/srv', '/srv/src/app.ts'))
  assert.ok(collide('/', '/srv'))
  assert.ok(collide('src', 'src/app.ts'))
  assert.ok(!collide('/srv/src', '/srv/docs'))
})

test('paths are compared by whole segments: /srv/src and /srv/src2 do not overlap', () => {
  assert.ok(!collide('/srv/src', '/srv/src2'))
  assert.ok(!collide('/srv/src', '/srv/src.bak/app.ts'))
  assert.ok(!collide('src', 'src2'))
})

test('trailing and doubled slashes and dots between slashes make no other path', () => {
  for (const path of ['/srv/src/', '//srv///src', '/srv/./src', '/./srv/src/.', '/srv/src//']) {
    const book = newBook()
    book.acquire({ holder: 'ada', paths: [path] })
    assert.equal(book.covering('ada', '/srv/src').verdict, 'own', path)
    assert.deepEqual(book.release('ada', ['/srv/src']).released, [path])
  }
  assert.ok(collide('./src', 'src'))
  assert.ok(!collide('/srv/.git', '/srv/git'), 'a name may begin with a dot')
  assert.ok(!collide('/srv/..data', '/srv/data'), 'or with two')
})

test('a relative path collides with every absolute one, both ways', () => {
  assert.ok(collide('src', '/srv/docs'))
  assert.ok(collide('.', '/'))
  assert.ok(collide('a/b/c', '/x'))
})

test('two relative paths are compared with each other by segments, and "." covers them all', () => {
  assert.ok(!collide('src', 'docs'))
  assert.ok(collide('.', 'docs'))
})

test("one's own relative claim covers no absolute path: it is free, not own", () => {
  const book = newBook()
  book.acquire({ holder: 'ada', paths: ['src'] })
  assert.equal(book.covering('ada', '/srv/src').verdict, 'free')
  assert.equal(book.covering('bob', '/srv/src').verdict, 'other')
})

test('a path that the book cannot reason about is refused, blocks nobody, and is covered by others', () => {
  const lone = String.fromCharCode(0xd800)
  const deep = `/${'d/'.repeat(129)}`
  const bad = [
    '',
    '..',
    '/srv/../etc',
    'src/..',
    '/a\\b',
    '\\',
    '/a\0b',
    '/a\nb',
    '/a\u2028b',
    `/${lone}`,
    deep,
    `/${'x'.repeat(4_096)}`,
  ]
  for (const path of bad) {
    const book = newBook()
    const answer = book.acquire({ holder: 'ada', paths: ['/srv', path] })
    assert.ok(!answer.granted && answer.reason === 'bad_path', JSON.stringify(path))
    assert.equal(answer.badPaths[0]?.path, path)
    assert.match(answer.badPaths[0]?.rule ?? '', /^a path /)
    assert.ok(book.acquire({ holder: 'bob', paths: ['/'] }).granted, 'nothing was granted')
    assert.equal(book.covering('bob', path).verdict, 'other')
    assert.deepEqual(book.release('bob', [path]).notHeld, [path])
    assert.ok(!book.pin('bob', path).pinned)
  }
})

test('a refusal for a bad path names the conflicts of the others all the same', () => {
  const book = newBook()
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  const answer = book.acquire({ holder: 'bob', paths: ['/srv/src', '..'] })
  assert.ok(!answer.granted)
  assert.deepEqual(
    answer.conflicts.map(({ path }) => path),
    ['/srv/src'],
  )
})

test('a bad path takes no place in the queue', () => {
  const book = newBook()
  book.acquire({ holder: 'ada', paths: ['/srv'] })
  const answer = book.waitAttempt({ holder: 'bob', paths: ['/srv', '..'], waitMs: 100 })
  assert.ok(!answer.granted && answer.reason === 'bad_path')
  assert.deepEqual(book.status().waits, [])
})

test('case counts, unless the book is told that the file system ignores it', () => {
  assert.ok(!collide('/srv/README.md', '/srv/readme.md'))
  assert.ok(collide('/srv/README.md', '/SRV/readme.md', true))
  assert.ok(collide('/Straße', '/STRASSE', true))
  assert.ok(collide('/STRAẞE', '/straße', true))
  assert.ok(collide('/STRAẞE', '/strasse', true))
})

test('composed and decomposed letters are one name', () => {
  assert.ok(collide('/srv/caf\u00e9', '/srv/cafe\u0301'))
})

test('names that look like something else are names', () => {
  for (const [one, other] of [
    ['/srv/*', '/srv/a'],
    ['/srv/~', '/srv/home'],
    ['/srv/%2e%2e', '/srv/x'],
    ['/srv/a ', '/srv/a'],
    ['/__proto__', '/constructor'],
  ]) {
    assert.ok(!collide(one ?? '', other ?? ''), `${one} ${other}`)
  }
})
