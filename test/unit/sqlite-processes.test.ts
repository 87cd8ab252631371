import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { SqlitePlace } from '../conformance/sqlite-place.ts'
import { Child, childCommand } from '../conformance/sqlite-process.ts'

const PROCESSES = 4
const TEST_TIMEOUT_MS = 60_000

let place: SqlitePlace
let children: Child[]
beforeEach(() => {
  place = new SqlitePlace()
  children = []
})
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  await place.close()
})

test('processes that start at once on no file, and contend, never hold together and never repeat a generation', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  children = Array.from({ length: PROCESSES }, () => new Child(childCommand('contend', place.path)))
  const lines = (await Promise.all(children.map((child) => child.rest()))).flat()
  const codes = await Promise.all(children.map((child) => child.end()))
  assert.deepEqual(codes, Array(PROCESSES).fill(0))

  const granted = lines.filter((line) => line.kind === 'granted')
  const released = new Map(lines.filter((line) => line.kind === 'released').map((l) => [l.generation, l]))
  const generations = granted.map((line) => line.generation ?? 0).sort((a, b) => a - b)
  assert.ok(generations.length >= PROCESSES, `only ${generations.length} tenures`)
  assert.deepEqual(generations, [...new Set(generations)], 'a generation was granted twice')

  const inOrder = granted.toSorted((a, b) => (a.generation ?? 0) - (b.generation ?? 0))
  for (const [i, next] of inOrder.entries()) {
    const before = inOrder[i - 1]
    if (before === undefined) continue
    const end = released.get(before.generation)
    assert.ok(end !== undefined, `generation ${before.generation} was lost while it lived`)
    assert.ok(
      (end.atMs ?? 0) <= (next.atMs ?? 0),
      `generations ${before.generation} and ${next.generation} overlap`,
    )
  }
})
