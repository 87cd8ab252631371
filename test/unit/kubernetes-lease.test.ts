import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { isNamed, readLease, releasedBody, renewedBody } from '../../src/stores/kubernetes/lease.ts'
import { formatMicros, nextTime, parseMicros, renewalTime } from '../../src/stores/kubernetes/micro-time.ts'
import { leaseName } from '../../src/stores/kubernetes/names.ts'

const DATE_MS = Date.UTC(2026, 10, 30, 12, 0, 0, 7)

function lease(spec: object | null, metadata: object = {}) {
  const record = readLease({ metadata: { name: 'x', uid: 'u', resourceVersion: '7', ...metadata }, spec })
  assert.ok(record !== null)
  return record
}

test('a time has exactly six fractional digits, whatever it is made of', () => {
  assert.equal(formatMicros(DATE_MS * 1_000), '2026-11-30T12:00:00.007000Z')
  assert.equal(formatMicros(DATE_MS * 1_000 + 1), '2026-11-30T12:00:00.007001Z')
  assert.equal(formatMicros(0), '1970-01-01T00:00:00.000000Z')
  assert.equal(formatMicros(Number.MAX_SAFE_INTEGER), '2255-06-05T23:47:34.740991Z')
})

test('a time is read with any number of digits, and in any zone', () => {
  assert.equal(parseMicros('2026-11-30T12:00:00.007Z'), DATE_MS * 1_000)
  assert.equal(parseMicros('2026-11-30T13:00:00.007000123+01:00'), DATE_MS * 1_000)
  assert.equal(parseMicros('2026-11-30T12:00:00Z'), (DATE_MS - 7) * 1_000)
  assert.equal(parseMicros('yesterday'), null)
})

test('a renewal is dated in another second than the one before, which is all that client-go can tell apart', () => {
  assert.equal(renewalTime(null, DATE_MS), '2026-11-30T12:00:00.007000Z')
  assert.equal(renewalTime('2026-11-30T11:59:59.999999Z', DATE_MS), '2026-11-30T12:00:00.007000Z')
  assert.equal(renewalTime('2026-11-30T12:00:00.006000Z', DATE_MS), '2026-11-30T12:00:01.000000Z')
  // Never further ahead of the wall clock than a second.
  assert.equal(renewalTime('2026-11-30T12:00:01.000000Z', DATE_MS), '2026-11-30T12:00:01.000001Z')
  assert.equal(renewalTime('2027-11-30T12:00:00.000000Z', DATE_MS), '2027-11-30T12:00:00.000001Z')
})

test('the next time is now, or a microsecond after the one before where that lies ahead', () => {
  assert.equal(nextTime(null, DATE_MS), '2026-11-30T12:00:00.007000Z')
  assert.equal(nextTime('2026-11-30T12:00:00.006999Z', DATE_MS), '2026-11-30T12:00:00.007000Z')
  assert.equal(nextTime('2026-11-30T12:00:00.007000Z', DATE_MS), '2026-11-30T12:00:00.007001Z')
  assert.equal(nextTime('2027-11-30T12:00:00.000000Z', DATE_MS), '2027-11-30T12:00:00.000001Z')
  assert.equal(nextTime('nonsense', DATE_MS), '2026-11-30T12:00:00.007000Z')
})

test('a holder of ours is read as label and session, whatever the label; any other as itself', () => {
  const session = randomUUID()
  for (const label of ['pod-1', '', 'a_b_c', `x_${randomUUID()}`, 'line\nend', 'Größe']) {
    const record = lease({ holderIdentity: `${label}_${session}`, leaseTransitions: 3 })
    assert.equal(record.holder, label)
    assert.equal(record.session, session)
    assert.ok(isNamed(record, { session, generation: 3 }))
    assert.ok(!isNamed(record, { session, generation: 4 }))
  }
  for (const foreign of ['web-7', 'web_7', `web_${session}x`]) {
    const record = lease({ holderIdentity: foreign })
    assert.deepEqual([record.holder, record.session, record.generation], [foreign, foreign, 0])
  }
})

test('null, empty and absent are the same: free, of no duration, of generation 0', () => {
  for (const spec of [
    null,
    {},
    { holderIdentity: null, leaseDurationSeconds: null },
    { holderIdentity: '' },
  ]) {
    const { holder, session, durationMs, generation, strategy } = lease(spec)
    assert.deepEqual([holder, session, durationMs, generation, strategy], [null, null, null, 0, null])
  }
})

test('what is no Lease is not read as one', () => {
  for (const value of [null, 'text', [], {}, { metadata: { name: 'x' } }])
    assert.equal(readLease(value), null)
})

test('a write keeps what it does not know, sends uid and resourceVersion, and writes no null', () => {
  const record = readLease({
    extra: 1,
    metadata: { name: 'x', uid: 'u', resourceVersion: '7', labels: { a: 'b' }, unknown: [1] },
    spec: { holderIdentity: 'h', future: { deep: true }, strategy: null, preferredHolder: null },
  })
  assert.ok(record !== null)
  for (const body of [renewedBody(record, 5_000, DATE_MS), releasedBody(record, DATE_MS)]) {
    assert.equal(body.extra, 1)
    assert.deepEqual(body.metadata, record.raw.metadata)
    assert.deepEqual((body.spec as { future: unknown }).future, { deep: true })
    assert.ok(!JSON.stringify(body).includes('null'))
  }
})

test('the mark of a record changes with a write of its holder, and with no other', () => {
  const spec = { holderIdentity: 'h', renewTime: '2026-11-30T12:00:00.007000Z', leaseTransitions: 1 }
  const { mark } = lease(spec)
  assert.equal(lease(spec, { resourceVersion: '8', labels: { edited: 'yes' } }).mark, mark)
  assert.notEqual(lease(spec, { uid: 'v' }).mark, mark)
  assert.notEqual(lease({ ...spec, renewTime: '2026-11-30T12:00:00.007001Z' }).mark, mark)
  assert.notEqual(lease({ ...spec, leaseTransitions: 2 }).mark, mark)
  assert.notEqual(lease({ ...spec, holderIdentity: 'i' }).mark, mark)
})

test('an election has the Lease of its name where that is one, else one of a digest, and all stay apart', () => {
  assert.equal(leaseName('fleet-manager'), 'fleet-manager')
  assert.equal(leaseName('a.b-c.9'), 'a.b-c.9')
  const digest = leaseName('Fleet Manager')
  assert.match(digest, /^tenure-[0-9a-f]{64}$/)
  const names = [
    'Fleet Manager',
    'fleet manager',
    'a..b',
    '-a',
    'a-',
    'é',
    'e\u0301',
    'x'.repeat(254),
    digest,
  ]
  assert.equal(new Set(names.map(leaseName)).size, names.length)
  for (const name of names) assert.match(leaseName(name), /^tenure-[0-9a-f]{64}$/)
})
