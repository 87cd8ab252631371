import assert from 'node:assert/strict'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { kindOfFileSystem } from '../../src/stores/sqlite/file-system.ts'
import { checkPlace, locate } from '../../src/stores/sqlite/location.ts'
import { SqlitePlace } from '../conformance/sqlite-place.ts'

let place: SqlitePlace
beforeEach(() => {
  place = new SqlitePlace()
})
afterEach(() => place.close())

test('the URL without a path names a file in the state folder of this user', () => {
  assert.equal(locate('sqlite:', { XDG_STATE_HOME: '/state' }), '/state/tenure/tenure.db')
  const fallback = join(homedir(), '.local/state/tenure/tenure.db')
  assert.equal(locate('sqlite:', {}), fallback)
  assert.equal(locate('sqlite:', { XDG_STATE_HOME: 'relative' }), fallback, 'a relative folder is ignored')
  assert.equal(locate('sqlite:', { XDG_STATE_HOME: '' }), fallback)
})

test('a path is taken as it is written, and ~/ is the home folder', () => {
  assert.equal(locate('sqlite:/var/lib/tenure.db'), '/var/lib/tenure.db')
  assert.equal(locate('sqlite:tenure.db'), resolve('tenure.db'))
  assert.equal(locate('sqlite:./a/tenure.db'), resolve('a/tenure.db'))
  assert.equal(locate('sqlite:~/tenure.db'), join(homedir(), 'tenure.db'))
  assert.equal(locate('sqlite:100%25 sure#1.db'), resolve('100%25 sure#1.db'), 'nothing is decoded')
  assert.equal(locate('sqlite:file:x.db'), resolve('file:x.db'), "SQLite's own URLs are only names")
})

test('only the form with slashes is percent-decoded', () => {
  assert.equal(locate('sqlite:///var/lib/a%20b%3F%23.db'), '/var/lib/a b?#.db')
  assert.equal(locate('SQLITE:///var/lib/tenure.db'), '/var/lib/tenure.db')
})

const REFUSED: readonly (readonly [url: string, because: RegExp])[] = [
  ['sqlite:tenure.db?mode=ro', /no settings after "\?"/],
  ['sqlite:///tenure.db?cache=shared', /no settings after "\?"/],
  ['sqlite://host/tenure.db', /on no host.*sqlite:\/\/\/absolute/],
  ['sqlite://', /on no host/],
  ['sqlite:///a%zz.db', /write % as %25/],
  ['sqlite:///a#b.db', /write # as %23/],
  ['sqlite::memory:', /no other process can see memory/],
  ['sqlite:/var/lib/', /names a folder/],
  ['sqlite:///var/lib/', /names a folder/],
  ['sqlite:a\0b', /NUL/],
  ['sqlite:///a%00b', /NUL/],
]

for (const [url, because] of REFUSED) {
  test(`${JSON.stringify(url)} is refused, with the rule and the remedy`, () => {
    assert.throws(() => locate(url, {}), { name: 'StoreError', kind: 'misconfigured', message: because })
  })
}

test('a folder, and a path below a file, stop the start', async () => {
  const folder = place.folder.path
  await assert.rejects(place.open(undefined, folder), { kind: 'misconfigured', message: /is a folder/ })
  const file = join(folder, 'file')
  writeFileSync(file, '')
  await assert.rejects(place.open(undefined, join(file, 'tenure.db')), {
    kind: 'misconfigured',
    message: /lies below .*file, which is a file/,
  })
})

test('missing folders are made, for their owner alone, and so is the file', async () => {
  const folder = join(place.folder.path, 'a')
  await place.open(undefined, join(folder, 'b', 'tenure.db'))
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.ok(statSync(join(folder, 'b', 'tenure.db')).isFile())
})

test('an empty file that is already there is taken', async () => {
  writeFileSync(place.path, '')
  const store = await place.open()
  assert.equal(store.location, place.path)
  assert.equal(store.kind, 'sqlite')
})

test('an ordinary file on a local disk is nothing to remark on', () => {
  const notes: string[] = []
  mkdirSync(join(place.folder.path, 'sub'))
  checkPlace(join(place.folder.path, 'sub', 'tenure.db'), (message) => notes.push(message))
  assert.deepEqual(notes, [])
})

test('network file systems are told from local ones, sign bit or not', () => {
  const network = [0x6969n, 0xff534d42n, -0xacb2ben, 0x01021997n, 0x00c36400n, 0x0bd00bd0n, 0x47504653n]
  for (const type of network) assert.equal(kindOfFileSystem(type)?.shared, 'network', `${type}`)
  assert.equal(kindOfFileSystem(0x65735546n)?.shared, 'perhaps', 'FUSE')
  const local = {
    ext4: 0xef53n,
    tmpfs: 0x01021994n,
    xfs: 0x58465342n,
    btrfs: 0x9123683en,
    overlay: 0x794c7630n,
  }
  for (const [name, type] of Object.entries(local)) assert.equal(kindOfFileSystem(type), null, name)
  assert.equal(kindOfFileSystem(null), null)
})
