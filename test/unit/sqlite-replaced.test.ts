import assert from 'node:assert/strict'
import { copyFileSync, existsSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import type { Instant } from '../../src/clock/clock.ts'
import type { Hint } from '../../src/stores/store.ts'
import { Contender, candidate } from '../conformance/harness.ts'
import { SqlitePlace } from '../conformance/sqlite-place.ts'
import { ManualClock } from '../support/clock.ts'

const TTL_MS = 10_000
const POLL_MS = 200
const CLOCK_STEP_MS = 10

let place: SqlitePlace
beforeEach(() => {
  place = new SqlitePlace()
})
afterEach(() => place.close())

async function contender(identity = 'somebody', election = 'fleet'): Promise<Contender> {
  return new Contender(await place.open(), election, candidate(identity))
}

function copyAway(): string {
  const copy = join(place.folder.path, 'copy.db')
  copyFileSync(place.path, copy)
  return copy
}

/** Puts an earlier content in the stead of the file: another file, another inode. */
function replaceBy(copy: string): void {
  const fresh = `${copy}.fresh`
  copyFileSync(copy, fresh)
  renameSync(fresh, place.path)
}

/** Writes an earlier content over the file: the same inode. */
function restoreInPlace(copy: string): void {
  copyFileSync(copy, place.path)
}

/** Whoever saw the earlier content acquires only after one ttl from when it noticed. */
async function assertWaitsOneTtl(one: Contender, above: number): Promise<void> {
  const first = await one.acquire(above, TTL_MS)
  assert.equal(first.kind, 'refused')
  assert.equal(first.kind === 'refused' && first.remainingMs, TTL_MS)
  place.machine.advance(TTL_MS - 1)
  const second = await one.acquire(above, TTL_MS)
  assert.equal(second.kind === 'refused' && second.remainingMs, 1)
  place.machine.advance(1)
  const won = await one.win(above, TTL_MS)
  assert.ok(won.generation > above, 'generations go on above what was seen in the earlier file')
  assert.equal(await one.renew(won, TTL_MS), 'granted', 'the new tenure is a whole one')
}

test('a file that was replaced by a copy ends the tenure, though the copy still names it', async () => {
  const holder = await contender('holder')
  const held = await holder.win(0, TTL_MS)
  replaceBy(copyAway())
  assert.equal(await holder.renew(held, TTL_MS), 'lost')
  assert.equal(await holder.release(held), 'lost')
  await assertWaitsOneTtl(holder, held.generation)
})

test('a tenure of another election is over as well, without a word from its own requests', async () => {
  const store = await place.open()
  const a = new Contender(store, 'a', candidate())
  const b = new Contender(store, 'b', candidate())
  const heldA = await a.win(0, TTL_MS)
  const heldB = await b.win(0, TTL_MS)
  replaceBy(copyAway())
  assert.equal(await a.renew(heldA, TTL_MS), 'lost')
  assert.equal(await b.renew(heldB, TTL_MS), 'lost')
})

test('a follower that saw the earlier file waits one ttl before it acquires in the new one', async () => {
  const holder = await contender('holder')
  const held = await holder.win(0, TTL_MS)
  const follower = await contender('follower')
  await follower.refused(held.generation)
  rmSync(place.path)
  await assertWaitsOneTtl(follower, held.generation)
  assert.equal(await holder.renew(held, TTL_MS), 'lost')
})

test('a follower that had the file open and never asked waits as well', async () => {
  const follower = await contender('follower')
  const holder = await contender('holder')
  await holder.win(0, TTL_MS)
  rmSync(place.path)
  await assertWaitsOneTtl(follower, 1)
})

test('the wait is as long as the ttl of the holder that was seen, where that is longer', async () => {
  const holder = await contender('holder')
  const held = await holder.win(0, 3 * TTL_MS)
  const follower = await contender('follower')
  await follower.refused(held.generation)
  rmSync(place.path)
  const refused = await follower.acquire(held.generation, TTL_MS)
  assert.equal(refused.kind === 'refused' && refused.remainingMs, 3 * TTL_MS)
})

test('a removed file is made anew, with its folder', async () => {
  const holder = await contender()
  await holder.win(0, TTL_MS)
  rmSync(dirname(place.path), { recursive: true })
  assert.equal(await holder.current(), null)
  assert.ok(existsSync(place.path))
})

test('a link that is turned to another file is a replacement', async () => {
  const link = join(place.folder.path, 'link.db')
  symlinkSync(place.path, link)
  const other = join(place.folder.path, 'other.db')
  const holder = new Contender(await place.open(undefined, link), 'fleet', candidate())
  const held = await holder.win(0, TTL_MS)
  rmSync(link)
  symlinkSync(other, link)
  assert.equal(await holder.renew(held, TTL_MS), 'lost')
})

test('generations do not repeat in a new file, though the caller forgot them', async () => {
  const holder = await contender()
  const held = await holder.win(40, TTL_MS)
  rmSync(place.path)
  await holder.acquire(0, TTL_MS)
  place.machine.advance(TTL_MS)
  assert.ok((await holder.win(0, TTL_MS)).generation > held.generation)
})

test('a content restored in place with a lower generation ends tenures and makes everybody wait one ttl', async () => {
  const holder = await contender('holder')
  const first = await holder.win(0, TTL_MS)
  const copy = copyAway()
  const second = await holder.win(first.generation, TTL_MS)
  const follower = await contender('follower')
  await follower.refused(second.generation)
  place.machine.advance(2 * TTL_MS)
  restoreInPlace(copy)
  await assertWaitsOneTtl(follower, second.generation)
  assert.equal(await holder.renew(second, TTL_MS), 'lost')
})

test('a content restored in place from before a renewal ends the tenure that renewed', async () => {
  const holder = await contender('holder')
  const held = await holder.win(0, TTL_MS)
  const copy = copyAway()
  place.machine.advance(TTL_MS / 2)
  assert.equal(await holder.renew(held, TTL_MS), 'granted')
  const follower = await contender('follower')
  await follower.refused(held.generation)
  restoreInPlace(copy)
  assert.equal(await holder.renew(held, TTL_MS), 'lost')
  place.machine.advance(TTL_MS - 1)
  // By the restored row the lease has run out; by the renewal that was lost it may not have.
  await follower.refused(held.generation)
})

test('a row that vanished makes everybody who saw it wait one ttl', async () => {
  const holder = await contender('holder')
  const held = await holder.win(0, TTL_MS)
  const follower = await contender('follower')
  await follower.refused(held.generation)
  const operator = new DatabaseSync(place.path)
  operator.exec('DELETE FROM lease')
  operator.close()
  await assertWaitsOneTtl(follower, held.generation)
})

test("another database's content written over the file in place is a replacement", async () => {
  const otherPath = join(place.folder.path, 'other.db')
  const other = new Contender(await place.open(undefined, otherPath), 'fleet', candidate('other'))
  await other.win(100, TTL_MS)
  const holder = await contender('holder')
  const held = await holder.win(0, TTL_MS)
  restoreInPlace(otherPath)
  assert.equal(await holder.renew(held, TTL_MS), 'lost')
  place.machine.advance(TTL_MS / 2)
  const refused = await holder.refused(200)
  assert.equal(refused.holder, 'other', 'what stands in the new content is named')
  place.machine.advance(TTL_MS / 2 + CLOCK_STEP_MS)
  await holder.win(200, TTL_MS)
})

test('a file that came back as it was is still waited for: what happened meanwhile is unknown', async () => {
  const holder = await contender('holder')
  const held = await holder.win(0, TTL_MS)
  const away = join(place.folder.path, 'away.db')
  renameSync(place.path, away)
  await holder.current()
  renameSync(away, place.path)
  assert.equal(await holder.renew(held, TTL_MS), 'lost')
})

/** A clock that does something at one of its next readings: the only moments that a request lets others have. */
class MeddledClock extends ManualClock {
  readings = 0
  meddleAt = 0
  meddle: () => void = () => undefined

  override now(): Instant {
    if (++this.readings === this.meddleAt) this.meddle()
    return super.now()
  }
}

test('a request during which the file is replaced, at whatever moment, is granted by neither file', async () => {
  const clock = new MeddledClock()
  let election = 0
  const fresh = async () => new Contender(await place.open(clock), `fleet-${election++}`, candidate())
  const begin = (meddleAt: number) => Object.assign(clock, { readings: 0, meddleAt })

  const plain = await fresh()
  const empty = copyAway()
  clock.meddle = () => replaceBy(empty)
  begin(0)
  const held = await plain.win(0, TTL_MS)
  const acquireReadings = clock.readings
  begin(0)
  assert.equal(await plain.renew(held, TTL_MS), 'granted')
  const renewReadings = clock.readings
  assert.ok(acquireReadings > 3 && renewReadings > 3)

  for (let at = 1; at <= acquireReadings; at++) {
    const one = await fresh()
    begin(at)
    assert.equal((await one.acquire(0, TTL_MS)).kind, 'refused', `replaced at reading ${at} of an acquire`)
  }
  for (let at = 1; at <= renewReadings; at++) {
    const one = await fresh()
    const tenure = await one.win(0, TTL_MS)
    begin(at)
    assert.equal(await one.renew(tenure, TTL_MS), 'lost', `replaced at reading ${at} of a renewal`)
  }
})

test('a watch tells the holder that the file was replaced, removed or restored', async () => {
  const acts: readonly ((copy: string) => void)[] = [replaceBy, () => rmSync(place.path), restoreInPlace]
  for (const [i, act] of acts.entries()) {
    const holder = await contender('holder', `fleet-${i}`)
    const first = await holder.win(0, TTL_MS)
    const copy = copyAway()
    await holder.renew(first, TTL_MS)
    const hints: Hint[] = []
    const watch = holder.store.watch?.(holder.election, (hint) => hints.push(hint))
    place.machine.advance(POLL_MS)
    hints.length = 0
    act(copy)
    place.machine.advance(POLL_MS)
    assert.deepEqual(hints, ['suspect'], act.name)
    watch?.close()
  }
})

test('a watch is not woken by renewals, and is by releases and new tenures', async () => {
  const holder = await contender('holder')
  const follower = await contender('follower')
  const held = await holder.win(0, TTL_MS)
  const hints: Hint[] = []
  const watch = follower.store.watch?.('fleet', (hint) => hints.push(hint))
  place.machine.advance(POLL_MS)
  hints.length = 0
  for (let i = 0; i < 5; i++) {
    assert.equal(await holder.renew(held, TTL_MS), 'granted')
    place.machine.advance(POLL_MS)
  }
  assert.deepEqual(hints, [])
  await holder.release(held)
  place.machine.advance(POLL_MS)
  assert.deepEqual(hints, ['changed'])
  await holder.win(held.generation, TTL_MS)
  place.machine.advance(POLL_MS)
  assert.deepEqual(hints, ['changed', 'changed'])
  watch?.close()
  assert.equal(place.machine.timers, 0, 'the last watch takes the poll with it')
})
