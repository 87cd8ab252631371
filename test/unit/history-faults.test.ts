import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { historyFaults } from '../../src/sidecar/history.ts'
import { StoreError, type StoreErrorKind } from '../../src/stores/store.ts'
import { ManualClock } from '../support/clock.ts'

const fault = (kind: StoreErrorKind, message: string) => new StoreError(kind, message, { cause: null })

test('every failure is counted for its election; what has to be mended is said once', async (t) => {
  const elections = ['blue', 'green'].map((name) => ({ name, ttlMs: 15_000, marginMs: 3_000 }))
  const metrics = createMetrics({
    clock: new ManualClock(),
    elections,
    build: { version: '0', store: 'sqlite' },
  })
  t.after(() => metrics.close())
  const notes: string[] = []
  const failed = historyFaults(metrics, (detail) => notes.push(detail))
  failed('blue', fault('unavailable', 'away'))
  assert.deepEqual(notes, [], 'the elections say so themselves')
  failed('blue', fault('denied', 'run GRANT'))
  failed('green', fault('denied', 'run GRANT'))
  failed('blue', fault('unavailable', 'away'))
  failed('blue', fault('denied', 'run GRANT'))
  assert.deepEqual(notes, ['the history is kept in the memory of this process only: run GRANT'])
  failed('blue', fault('schema', 'run `tenure migrate`'))
  assert.equal(notes.length, 2)
  const text = await metrics.registry.metrics()
  assert.match(text, /^tenure_history_failures_total\{election="blue"\} 5$/m)
  assert.match(text, /^tenure_history_failures_total\{election="green"\} 1$/m)
})
