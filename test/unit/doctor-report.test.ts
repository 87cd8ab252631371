import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  advise,
  type Check,
  type FaultKind,
  fault,
  type Lease,
  ok,
  paste,
  warning,
} from '../../src/cli/doctor/check.ts'
import { checkOffset, measureOffset } from '../../src/cli/doctor/clock-offset.ts'
import { checkGracePeriod } from '../../src/cli/doctor/grace-period.ts'
import { roleManifest } from '../../src/cli/doctor/kubernetes/role.ts'
import { shellWord, sqlName } from '../../src/cli/doctor/quote.ts'
import { asLines, exitCode } from '../../src/cli/doctor/report.ts'
import { checkTwin } from '../../src/cli/doctor/twin.ts'
import { ManualClock } from '../support/clock.ts'
import { leadership } from '../support/stand-in.ts'

function faultOf(kind: FaultKind): Check {
  return fault('x', kind, 'found', 'rule', advise('advice'))
}

test('of several faults the exit code tells the one that is in the way of the others', () => {
  const kinds: readonly FaultKind[] = ['other', 'schema', 'denied', 'unavailable', 'misconfigured']
  const codes = kinds.map((_, i) => exitCode(kinds.slice(0, i + 1).map(faultOf)))
  assert.deepEqual(codes, [1, 5, 4, 4, 2])
  assert.equal(exitCode([ok('x', ''), warning('x', '', '', advise(''))]), 0)
})

test('a label from elsewhere cannot command a terminal, nor begin a line', () => {
  const text = asLines([
    fault('twin', 'other', 'held by \u001b[2J\nok       all is well', 'rule', paste('sql', 'A;\nB;', 'do')),
  ])
  assert.ok(!text.includes('\u001b'))
  assert.match(text, /^fault {4}twin: held by \\u001b\[2J ok {7}all is well$/m)
  assert.match(text, /\n {11}A;\n {11}B;\n/)
})

test('the grace period holds the drain and the 1.5 s after it', () => {
  assert.equal(checkGracePeriod(31_500, 30_000).status, 'ok')
  assert.equal(checkGracePeriod(31_499, 30_000).status, 'fault')
  assert.equal(checkGracePeriod(null, 30_000).status, 'skipped')
  assert.equal(checkGracePeriod(1_000, 0).remedy?.paste, null)
})

test('a clock is judged by half the margin, less what the reading leaves open', () => {
  const judge = (aheadMs: number, uncertainMs: number) =>
    checkOffset({ aheadMs, uncertainMs }, 3_000, 'it').status
  assert.equal(judge(1_500, 0), 'ok')
  assert.equal(judge(-1_501, 0), 'warning')
  assert.equal(judge(1_900, 400), 'ok')
  assert.equal(judge(1_901, 400), 'warning')
})

test('of several readings of a clock the quickest counts', async () => {
  const clock = new ManualClock({ dateMs: 1_000_000 })
  const tookMs = [400, 20, 1_000]
  const offset = await measureOffset(clock, 3, async () => {
    const ms = tookMs.shift() ?? 0
    clock.advance(ms / 2)
    const dateMs = clock.date() + 5_000
    clock.advance(ms / 2)
    return dateMs
  })
  assert.deepEqual(offset, { aheadMs: 5_000, uncertainMs: 10 })
})

const LEASE: Lease = { election: 'default', holder: 'web-1', session: 's', generation: 8, live: true }

test('a holder under our label is a twin unless it is the sidecar here', () => {
  const leads = { leading: true, session: 's', generation: 8, state: 'leading' }
  const here = (more: object) =>
    [leadership({ ...leads, ...more })] as unknown as Parameters<typeof checkTwin>[2]
  const judge = (lease: Lease, neighbour: Parameters<typeof checkTwin>[2]) =>
    checkTwin(lease, 'web-1', neighbour).status
  assert.equal(judge(LEASE, []), 'warning')
  assert.equal(judge({ ...LEASE, live: false }, []), 'ok')
  assert.equal(judge({ ...LEASE, holder: 'web-2' }, []), 'ok')
  assert.equal(judge(LEASE, here({})), 'ok')
  assert.equal(judge(LEASE, here({ session: 'later', generation: 9 })), 'ok')
  assert.equal(judge(LEASE, here({ session: 'other', generation: 7 })), 'fault')
  assert.equal(
    judge(LEASE, here({ leading: false, session: null, generation: null, state: 'following' })),
    'fault',
  )
  const draining = { generation: 8, leaseRemainingMs: 5 }
  assert.equal(judge(LEASE, here({ leading: false, session: null, generation: null, draining })), 'ok')
  assert.equal(judge(LEASE, here({ identity: 'web-3' })), 'warning')
})

test('what is pasted is quoted for where it is pasted', () => {
  assert.equal(shellWord('/var/lib/x.db'), '/var/lib/x.db')
  assert.equal(shellWord("a b'c; rm -rf $HOME"), `'a b'\\''c; rm -rf $HOME'`)
  assert.equal(sqlName('plain_1'), 'plain_1')
  assert.equal(sqlName('My "role'), '"My ""role"')
  assert.match(roleManifest('ns', 'jane: {x}', ['a'], false), /name: "jane: \{x\}" \}$/)
  assert.match(
    roleManifest('ns', 'system:serviceaccount:other:app', ['a'], true),
    /verbs: \[get, watch\], resourceNames: \["a"\]/,
  )
})
