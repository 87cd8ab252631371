import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HISTORY_MOST } from '../../src/election/history.ts'
import { recordsOf, type StoredTenure, withSeen } from '../../src/election/history-view.ts'
import type { TenureRecord } from '../../src/election/status.ts'

const STORED: StoredTenure = {
  holder: 'one',
  generation: 7,
  fromMs: 1_000,
  untilMs: 2_000,
  reason: 'resigned',
  leaderlessMs: 30,
  lease: 'past',
}
const RECORD: TenureRecord = recordOf(STORED)

function recordOf(stored: StoredTenure): TenureRecord {
  const [record] = recordsOf([stored])
  assert.ok(record !== undefined)
  return record
}

test('what the holder said stands, and else how the lease became free', () => {
  assert.equal(recordOf(STORED).reason, 'resigned')
  assert.equal(recordOf({ ...STORED, reason: null, lease: 'released' }).reason, 'released')
  assert.equal(recordOf({ ...STORED, reason: null, lease: 'expired' }).reason, 'expired')
})

test('a tenure whose lease is held lasts, also when its holder has said why it will end', () => {
  const { untilMs, reason } = recordOf({ ...STORED, untilMs: null, reason: 'shutdown', lease: 'held' })
  assert.deepEqual([untilMs, reason], [null, null])
})

test('a tenure that nobody saw end is over, and nothing is invented', () => {
  const { untilMs, reason } = recordOf({ ...STORED, untilMs: null, reason: null })
  assert.deepEqual([untilMs, reason], [null, 'unknown'])
})

test('how long nobody led is read off the rows where nobody said it, and no tenure can lie between', () => {
  const leaderless = (
    generation: number,
    fromMs: number,
    untilMs: number | null,
  ): number | null | undefined =>
    recordsOf([
      { ...STORED, untilMs },
      { ...STORED, generation, fromMs, leaderlessMs: null },
    ])[1]?.leaderlessMs
  assert.equal(leaderless(8, 2_040, 2_000), 40)
  assert.equal(leaderless(9, 2_040, 2_000), null, 'generation 8 lies between')
  assert.equal(leaderless(8, 2_040, null), null)
  assert.equal(leaderless(8, 1_990, 2_000), null, 'the clock was set back')
})

test('a reason of a newer Tenure is unknown to this one', () => {
  assert.equal(recordOf({ ...STORED, reason: 'promoted' }).reason, 'unknown')
})

test('tenures that only this process saw are added behind those of the store, never between them', () => {
  const seen = [6, 8, 9].map((generation) => ({ ...RECORD, generation, reason: 'seen' as const }))
  const generations = withSeen([{ ...RECORD, generation: 5 }, RECORD], seen).map(
    ({ generation }) => generation,
  )
  assert.deepEqual(generations, [5, 7, 8, 9])
})

test('why our own tenure ended is told before the store knows it; what the store knows is left as it is', () => {
  const own = { ...RECORD, untilMs: 1_999, reason: 'deadline' as const }
  for (const reason of ['expired', 'released', 'unknown'] as const) {
    assert.deepEqual(withSeen([{ ...RECORD, reason }], [own]), [{ ...RECORD, reason: 'deadline' }])
    assert.deepEqual(withSeen([{ ...RECORD, reason }], [{ ...own, reason: 'seen' }]), [{ ...RECORD, reason }])
  }
  assert.deepEqual(withSeen([RECORD], [own]), [RECORD])
})

test('of two tenures the earlier one does not last', () => {
  const lasting = { ...RECORD, untilMs: null, reason: null }
  const [first, second] = withSeen([lasting], [{ ...lasting, generation: 8 }])
  assert.deepEqual([first?.reason, second?.reason], ['unknown', null])
})

test('no more than the newest are told', () => {
  const stored = Array.from({ length: HISTORY_MOST }, (_, i) => ({ ...RECORD, generation: i + 1 }))
  const told = withSeen(stored, [{ ...RECORD, generation: HISTORY_MOST + 1 }])
  assert.deepEqual([told.length, told[0]?.generation], [HISTORY_MOST, 2])
})
