import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { EVENT_BACKLOG_MOST_BYTES, EVENT_READERS_MOST, HEARTBEAT_EVERY_MS } from '../../src/http/events.ts'
import { LONG_POLLS_MOST, WAIT_MOST_MS } from '../../src/http/long-poll.ts'
import { eventually, FOLLOWING, LEADING, type Rig, startRig, stopAll } from './http-fixtures.ts'

function waiting({ servers, election }: Rig, kind: 'long_poll' | 'events', count: number): Promise<void> {
  return eventually(`${count} ${kind}`, () => servers.subscribers(election.name, kind) === count)
}

test('a long poll returns at the next change, with no promise', async (t) => {
  const rig = await startRig(t)
  const reply = rig.ask('/v1/leadership?after=aaaa-0&wait=30s')
  await waiting(rig, 'long_poll', 1)
  rig.election.become(LEADING)
  const { status, json } = await reply
  assert.equal(status, 200)
  assert.equal(json.revision, 'aaaa-1')
  assert.equal(json.leading, true)
  assert.equal(json.validForMs, null)
  assert.equal(rig.election.promises, 0, 'a hint does not promise')
  assert.equal(rig.servers.subscribers('fleet-manager', 'long_poll'), 0)
})

test('a long poll whose time is up returns the present state', async (t) => {
  const rig = await startRig(t)
  const reply = rig.ask('/v1/leadership?after=aaaa-0&wait=2s')
  await waiting(rig, 'long_poll', 1)
  rig.clock.advance(1_999)
  assert.equal(rig.servers.subscribers('fleet-manager', 'long_poll'), 1)
  rig.clock.advance(1)
  const { status, json } = await reply
  assert.equal(status, 200)
  assert.deepEqual([json.revision, json.validForMs], ['aaaa-0', null])
})

test('a longer wait is cut to the longest, and none given is 30 s', async (t) => {
  const rig = await startRig(t)
  const long = rig.ask('/v1/leadership?after=aaaa-0&wait=24h')
  await waiting(rig, 'long_poll', 1)
  const plain = rig.ask('/v1/leadership?after=aaaa-0')
  await waiting(rig, 'long_poll', 2)
  rig.clock.advance(30_000)
  await plain
  assert.equal(rig.servers.subscribers('fleet-manager', 'long_poll'), 1)
  rig.clock.advance(WAIT_MOST_MS - 30_000)
  await long
})

test('a revision that is not the present one answers at once, older or of another process', async (t) => {
  const rig = await startRig(t)
  rig.election.become(FOLLOWING)
  for (const after of ['aaaa-0', 'zzzz-9', '']) {
    const { status, json } = await rig.ask(`/v1/leadership?after=${after}&wait=30s`)
    assert.equal(status, 200)
    assert.deepEqual([json.revision, json.validForMs], ['aaaa-1', null])
  }
})

test('a wait that is no duration, or waits for nothing, is refused with the remedy', async (t) => {
  const rig = await startRig(t)
  const bare = await rig.ask('/v1/leadership?after=aaaa-0&wait=30')
  assert.equal(bare.status, 400)
  assert.match(bare.json.error.message, /wait "30".*30s/)
  const alone = await rig.ask('/v1/leadership?wait=30s')
  assert.equal(alone.status, 400)
  assert.match(alone.json.error.message, /after=REVISION/)
})

test('a long poll whose client has gone is forgotten at once', async (t) => {
  const rig = await startRig(t)
  const timersBefore = rig.clock.timers
  const left = rig.open('/v1/leadership?after=aaaa-0&wait=30s')
  await waiting(rig, 'long_poll', 1)
  left.request.destroy()
  await waiting(rig, 'long_poll', 0)
  assert.equal(rig.clock.timers, timersBefore, 'its timer is gone as well')
})

test('pipelined long polls are forgotten with their connection, the queued ones too', async (t) => {
  const rig = await startRig(t)
  const socket = connect(rig.port, '127.0.0.1')
  socket.on('error', () => undefined)
  const poll = 'GET /v1/leadership?after=aaaa-0&wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const stream = 'GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n'
  socket.write(poll + poll + stream)
  await waiting(rig, 'long_poll', 2)
  await waiting(rig, 'events', 1)
  socket.destroy()
  await waiting(rig, 'long_poll', 0)
  await waiting(rig, 'events', 0)
})

test('clients that leave in the middle of anything leave nothing behind', async (t) => {
  const rig = await startRig(t)
  const timersBefore = rig.clock.timers
  const paths = ['/v1/events', '/v1/leadership?after=aaaa-0', '/v1/history', '/leader', '/openapi.json']
  for (let i = 0; i < 100; i++) {
    const left = rig.open(paths[i % paths.length] as string)
    left.request.once('socket', (socket) =>
      setImmediate(() => (i % 2 === 0 ? left.request : socket).destroy()),
    )
    if (i % 7 === 0) rig.election.become({ ...FOLLOWING })
    await left.closed
  }
  await waiting(rig, 'long_poll', 0)
  await waiting(rig, 'events', 0)
  assert.equal(rig.clock.timers, timersBefore)
  assert.deepEqual(rig.faults, [])
  assert.equal((await rig.ask('/leader')).status, 503)
})

test('more long polls than there is room for are refused, and told to come back', async (t) => {
  const rig = await startRig(t)
  const path = '/v1/leadership?after=aaaa-0&wait=30s'
  const polls = Array.from({ length: LONG_POLLS_MOST }, () => rig.ask(path))
  await waiting(rig, 'long_poll', LONG_POLLS_MOST)
  const { status, headers, json } = await rig.ask(path)
  assert.equal(status, 503)
  assert.equal(headers['retry-after'], '1')
  assert.match(json.error.message, new RegExp(`no more than ${LONG_POLLS_MOST}`))
  assert.equal((await rig.ask('/v1/leadership')).status, 200, 'plain questions are answered all the same')
  rig.election.become(LEADING)
  const replies = await Promise.all(polls)
  assert.ok(replies.every((reply) => reply.json.revision === 'aaaa-1'))
})

/** Reads a stream of events as far as it has come. */
function parseEvents(text: string) {
  return text
    .split('\n\n')
    .filter((block) => block.includes('data: '))
    .map((block) => {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]))
      return {
        id: fields.get('id'),
        event: fields.get('event'),
        data: JSON.parse(fields.get('data') ?? 'null'),
      }
    })
}

function eventCount(count: number): (text: string) => boolean {
  return (text) => parseEvents(`${text.slice(0, text.lastIndexOf('\n\n'))}`).length >= count
}

test('a stream begins with the present state, and then tells each transition in order', async (t) => {
  const rig = await startRig(t)
  const stream = rig.open('/v1/events')
  await stream.until(eventCount(1))
  rig.election.become(LEADING)
  rig.election.become({ ...FOLLOWING, state: 'draining', reason: 'resigned' })
  rig.election.become({ ...FOLLOWING, reason: 'resigned' })
  const events = parseEvents(await stream.until(eventCount(4)))
  assert.deepEqual(
    events.map(({ id, event, data }) => [id, event, data.state, data.leading]),
    [
      ['aaaa-0', 'leadership', 'following', false],
      ['aaaa-1', 'leadership', 'leading', true],
      ['aaaa-2', 'leadership', 'draining', false],
      ['aaaa-3', 'leadership', 'following', false],
    ],
  )
  assert.equal(events[0]?.data.transition, null)
  assert.deepEqual(events[1]?.data.transition, {
    from: 'following',
    to: 'leading',
    reason: 'elected',
    generation: 7,
  })
  assert.deepEqual(events[2]?.data.transition, {
    from: 'leading',
    to: 'draining',
    reason: 'resigned',
    generation: 7,
  })
  assert.ok(events.every(({ data }) => !('validForMs' in data)))
  assert.equal(rig.election.promises, 0)
})

test('a stream is marked as one, and HEAD gets its headers without opening it', async (t) => {
  const rig = await startRig(t)
  const { status, headers } = await rig.ask('/v1/events', { method: 'HEAD' })
  assert.equal(status, 200)
  assert.match(headers['content-type'] ?? '', /^text\/event-stream/)
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(rig.servers.subscribers('fleet-manager', 'events'), 0)
})

test('a quiet stream carries a heartbeat every 15 s', async (t) => {
  const rig = await startRig(t)
  const stream = rig.open('/v1/events')
  await stream.until(eventCount(1))
  for (const beats of [1, 2]) {
    rig.clock.advance(HEARTBEAT_EVERY_MS)
    await stream.until((text) => text.split(': heartbeat\n\n').length - 1 === beats)
  }
})

test('a reader that has gone is forgotten, with its heartbeat', async (t) => {
  const rig = await startRig(t)
  const timersBefore = rig.clock.timers
  const stream = rig.open('/v1/events')
  await stream.until(eventCount(1))
  stream.request.destroy()
  await waiting(rig, 'events', 0)
  assert.equal(rig.clock.timers, timersBefore)
})

test('a slow reader is dropped, and never delays another', async (t) => {
  const rig = await startRig(t)
  const slow = connect(rig.port, '127.0.0.1')
  slow.on('error', () => undefined)
  slow.write('GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  slow.pause()
  await waiting(rig, 'events', 1)
  const quick = rig.open('/v1/events')
  await quick.until(eventCount(1))
  const padding = 'x'.repeat(EVENT_BACKLOG_MOST_BYTES / 2)
  let told = 0
  // What the kernel holds for the slow one has to fill up first; the quick one gets each event at once.
  while (rig.servers.subscribers('fleet-manager', 'events') === 2) {
    told++
    assert.ok(told < 2_000, 'the slow reader is never dropped')
    const revision = rig.election.become({ ...FOLLOWING, identity: padding })
    await quick.until((text) => text.includes(`id: ${revision}\n`))
  }
  slow.destroy()
  const last = rig.election.become(LEADING)
  await quick.until((text) => text.includes(`id: ${last}\n`))
  assert.equal(rig.servers.subscribers('fleet-manager', 'events'), 1)
})

test('more streams than there is room for are refused', async (t) => {
  const rig = await startRig(t)
  for (let i = 0; i < EVENT_READERS_MOST; i++) rig.open('/v1/events')
  await waiting(rig, 'events', EVENT_READERS_MOST)
  const { status, json } = await rig.ask('/v1/events')
  assert.equal(status, 503)
  assert.equal(json.error.code, 'too_many_readers')
})

test('a stop answers long polls, ends streams, and lets go of the elections', async (t) => {
  const rig = await startRig(t)
  const poll = rig.ask('/v1/leadership?after=aaaa-0&wait=30s')
  const stream = rig.open('/v1/events')
  await waiting(rig, 'long_poll', 1)
  await stream.until(eventCount(1))
  rig.election.now = { ...FOLLOWING, state: 'stopped', reason: 'shutdown' }
  const stopped = rig.servers.stop()
  assert.equal((await poll).json.state, 'stopped')
  await stream.closed
  await stopped
  assert.equal(rig.election.listeners.size, 0)
  await assert.rejects(rig.ask('/v1/leadership'), { code: 'ECONNREFUSED' })
})

test('a stop does not wait for a request that never ends', async (t) => {
  const rig = await startRig(t)
  const socket = connect(rig.port, '127.0.0.1')
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', () => undefined)
  const head = 'POST /v1/drained HTTP/1.1\r\nHost: localhost\r\nTenure-Request: 1\r\n'
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 40\r\n\r\n{`)
  await rig.ask('/v1/leadership')
  await stopAll(rig.servers, rig.clock)
  await closed
})
