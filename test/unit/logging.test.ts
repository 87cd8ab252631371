import assert from 'node:assert/strict'
import { execFile, type StdioOptions, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { Status, Transition } from '../../src/election/status.ts'
import { LOG_EVENTS } from '../../src/logging/events.ts'
import { createLog, type LogSettings } from '../../src/logging/logger.ts'
import { logMonitor } from '../../src/logging/monitor.ts'
import { StoreError } from '../../src/stores/store.ts'

const SETTINGS: LogSettings = {
  level: 'info',
  format: 'json',
  identity: 'web-1',
  isTerminal: false,
  colour: false,
}

async function logged(settings: Partial<LogSettings> = {}) {
  const lines: string[] = []
  const sink = { write: (line: string) => void lines.push(line) }
  const log = await createLog({ ...SETTINGS, ...settings }, systemClock(), sink)
  return { log, lines, events: () => lines.map((line) => JSON.parse(line)) }
}

const STATUS: Status = {
  election: 'fleet',
  identity: 'web-1',
  leading: false,
  generation: null,
  session: null,
  actForMs: 0,
  state: 'following',
  reason: 'started',
  sinceMs: 1_000,
  revision: 'r1',
  current: null,
  draining: null,
  store: { kind: 'sqlite', location: '/x', lastSuccessAgoMs: null, error: null },
}

function transition(
  to: Transition['to'],
  reason: Transition['reason'],
  generation: number | null,
): Transition {
  return { revision: 'r', from: 'following', to, reason, generation }
}

function report(error: StoreError | null, result: 'error' | 'timeout' | 'aborted' | 'granted' | 'refused') {
  const election = 'fleet'
  return { election, op: 'renew', result, durationMs: 1.6, slackMs: null, leaderlessMs: null, error } as const
}

function unavailable(message: string): StoreError {
  return new StoreError('unavailable', message, { cause: null })
}

test('each line is one JSON object with its event, its identity and what is known', async () => {
  const { log, events } = await logged()
  logMonitor(log).transition(transition('leading', 'elected', 7), { ...STATUS, state: 'leading' })
  const [line] = events()
  assert.equal(line.event, 'elected')
  assert.equal(line.level, 'info')
  assert.equal(line.identity, 'web-1')
  assert.equal(line.election, 'fleet')
  assert.equal(line.generation, 7)
  assert.equal(line.reason, 'elected')
  assert.equal(line.msg, 'this instance leads, under generation 7')
  assert.ok(!Number.isNaN(Date.parse(line.time)))
})

test('every way to stop leading has its own event, and only those nobody asked for are warnings', async () => {
  const { log, events } = await logged()
  const monitor = logMonitor(log)
  const reasons = [
    'resigned',
    'drained',
    'lapsed',
    'lost',
    'deadline',
    'unhealthy',
    'fault',
    'started',
  ] as const
  for (const reason of reasons) monitor.transition(transition('following', reason, 7), STATUS)
  monitor.transition(transition('draining', 'resigned', 7), STATUS)
  monitor.transition(transition('draining', 'unhealthy', 7), STATUS)
  monitor.transition(transition('observing', 'started', null), STATUS)
  monitor.transition(transition('stopped', 'shutdown', null), STATUS)
  assert.deepEqual(
    events().map(({ event, level }) => `${event} ${level}`),
    [
      'resigned info',
      'drained info',
      'lapsed warn',
      'lost warn',
      'deadline warn',
      'following info',
      'fault error',
      'following info',
      'draining info',
      'unhealthy warn',
      'observing info',
      'stopped info',
    ],
  )
})

test('the end of a tenure tells how long it lasted', async () => {
  const { log, events } = await logged()
  const monitor = logMonitor(log)
  monitor.transition(transition('leading', 'elected', 7), { ...STATUS, sinceMs: 1_000 })
  monitor.transition(transition('following', 'lost', 7), { ...STATUS, sinceMs: 13_300 })
  monitor.transition(transition('following', 'started', null), { ...STATUS, sinceMs: 14_000 })
  assert.deepEqual(
    events().map(({ durationMs }) => durationMs),
    [undefined, 12_300, undefined],
  )
  assert.match(events()[1].msg, /after 12\.3 s/)
})

test('another holder is announced; our own tenure is not announced twice', async () => {
  const { log, events } = await logged()
  const monitor = logMonitor(log)
  const current = { holder: 'web-2', generation: 8, expiresInMs: 1, observedAgeMs: 0 }
  monitor.holder({ ...STATUS, current })
  monitor.holder({ ...STATUS, current: { ...current, holder: null } })
  monitor.holder({ ...STATUS, state: 'leading', current })
  monitor.holder(STATUS)
  assert.deepEqual(
    events().map(({ msg }) => msg),
    ['"web-2" leads, under generation 8', 'nobody leads'],
  )
})

test('a store error is logged once for each change, and so is its end', async () => {
  const { log, events } = await logged()
  const { request } = logMonitor(log)
  request(report(null, 'granted'))
  for (let i = 0; i < 5; i++) request(report(unavailable('connection refused'), 'error'))
  request(report(null, 'aborted'))
  for (const leftMs of [900, 500, 100])
    request(report(unavailable(`no answer within ${leftMs} ms`), 'timeout'))
  request(report(unavailable('connection refused'), 'error'))
  request(report(null, 'refused'))
  request(report(null, 'refused'))
  request(report(unavailable('connection refused'), 'error'))
  assert.deepEqual(
    events().map(({ event, level, detail }) => [event, level, detail]),
    [
      ['store_error', 'warn', 'connection refused'],
      ['store_error', 'warn', 'no answer within 900 ms'],
      ['store_error', 'warn', 'connection refused'],
      ['store_recovered', 'info', undefined],
      ['store_error', 'warn', 'connection refused'],
    ],
  )
})

test('renewals and refusals are for debugging', async () => {
  const quiet = await logged()
  logMonitor(quiet.log).request(report(null, 'granted'))
  assert.deepEqual(quiet.lines, [])
  const { log, events } = await logged({ level: 'debug' })
  logMonitor(log).request(report(null, 'granted'))
  logMonitor(log).request(report(null, 'refused'))
  assert.deepEqual(
    events().map(({ event, level }) => [event, level]),
    [
      ['renewed', 'debug'],
      ['request', 'debug'],
    ],
  )
})

test('a pause, damping and a defect are told with what is known of them', async () => {
  const { log, events } = await logged()
  const monitor = logMonitor(log)
  monitor.paused('fleet', 312.7)
  monitor.damped('fleet', 2_000)
  monitor.fault('fleet', new Error('boo'))
  const [paused, damped, defect] = events()
  assert.deepEqual([paused.level, paused.durationMs], ['warn', 313])
  assert.deepEqual([damped.level, damped.durationMs], ['warn', 2_000])
  assert.equal(defect.level, 'error')
  assert.match(defect.err.stack, /Error: boo/)
})

test('the pretty form is a short line for each event, with the election in front', async () => {
  const { log, lines } = await logged({ format: 'pretty' })
  log.event('elected', { election: 'fleet', generation: 7, reason: 'elected' })
  assert.equal(lines.length, 1)
  assert.match(
    lines[0] ?? '',
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: \[fleet\] this instance leads, under generation 7\n$/,
  )
})

test('auto is pretty on a terminal and JSON elsewhere', async () => {
  const terminal = await logged({ format: 'auto', isTerminal: true })
  terminal.log.event('stopped')
  assert.match(terminal.lines[0] ?? '', /INFO: stopped/)
  const pipe = await logged({ format: 'auto' })
  pipe.log.event('stopped')
  assert.equal(pipe.events()[0].event, 'stopped')
})

test('every event has a message, whatever is not known', () => {
  for (const [name, { message }] of Object.entries(LOG_EVENTS)) assert.notEqual(message({}), '', name)
})

const run = promisify(execFile)
const LOGGER = JSON.stringify(new URL('../../src/logging/logger.ts', import.meta.url).href)
const CLOCK = JSON.stringify(new URL('../../src/clock/system-clock.ts', import.meta.url).href)
/** Writes many lines to standard output and exits without waiting for them. */
const WRITER = `
import { createLog } from ${LOGGER}
import { systemClock } from ${CLOCK}
const log = await createLog(${JSON.stringify(SETTINGS)}, systemClock())
for (let i = 0; i < 5000; i++) log.event('store_note', { detail: 'n' + i })
await log.flush()
process.exit(7)`

/** The exit code of the writer, with its standard output where it is put. */
function exitCode(output: StdioOptions): Promise<number | null> {
  const argv = ['--input-type=module', '--eval', WRITER]
  const child = spawn(process.execPath, argv, { stdio: output })
  child.stdout?.destroy()
  return new Promise((resolve) => child.once('exit', resolve))
}

test('what was logged before a flush is written, all of it and in order', async () => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', WRITER], {
    maxBuffer: 1e8,
  }).catch((error) => error)
  const details = stdout
    .trimEnd()
    .split('\n')
    .map((line: string) => JSON.parse(line).detail)
  assert.deepEqual(
    details,
    Array.from({ length: 5_000 }, (_, i) => `n${i}`),
  )
})

const FULL_DISK = process.platform === 'linux' ? false : 'there is no /dev/full here'

test('a full disk costs lines, not the process', { skip: FULL_DISK }, async () => {
  assert.equal(await exitCode(['ignore', openSync('/dev/full', 'w'), 'inherit']), 7)
})

test('a reader that goes away costs lines, not the process', async () => {
  assert.equal(await exitCode(['ignore', 'pipe', 'inherit']), 7)
})
