/** What the process itself has to survive, and how it ends where it cannot. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { tenure } from '../support/command.ts'
import { withFleet } from '../support/fleet.ts'
import { SidecarProcess, sidecar, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TTL_MS = 3_000
const AFTER_EXPIRY_MS = 1_000
const SHUTDOWN_MS = 1_500
const SLACK_MS = 500
const TEST_TIMEOUT_MS = 30_000

const folder = tempFolder()
after(() => folder.remove())

const flags = (...more: readonly string[]) => [
  ...['--store', `sqlite:${join(folder.path, 'tenure.db')}`],
  ...['--ttl', `${TTL_MS}ms`],
  ...more,
]

test('a port in use stops the start with 1, and the message names the flag', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`
  const api = await tenure(['run', ...flags(), '--listen', address])
  assert.equal(api.code, 1)
  assert.match(
    api.stderr,
    new RegExp(`^tenure: --listen ${address}: .*another process listens there.*--listen$`, 'm'),
  )
  const ops = await tenure(['run', ...flags(), '--listen', '127.0.0.1:0', '--ops-listen', address])
  assert.equal(ops.code, 1)
  assert.match(ops.stderr, new RegExp(`^tenure: --ops-listen ${address}: .*--ops-listen$`, 'm'))
})

test('a reader of the log that goes away costs lines, not the lease', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const one = await sidecar(t, 'unread', flags('--election', 'unread', '--log-level', 'debug'))
  const { generation } = await one.leads()
  one.child.stdout?.destroy()
  one.child.stderr?.destroy()
  const goneMs = performance.now()
  await until('some renewals go by', async () => {
    assert.equal((await one.leadership())?.generation, generation)
    return performance.now() - goneMs > 2 * TTL_MS ? true : null
  })
  one.kill('SIGTERM')
  assert.equal(await one.exited(), 0)
})

/** Of POSIX: no package brings it. */
const MAKE_PIPE = 'mkfifo'

/** A pipe that is full and that nobody reads; what is written to the descriptor waits for ever. */
function fullPipe(name: string): number {
  const path = join(folder.path, name)
  execFileSync(MAKE_PIPE, [path])
  const blocking = openSync(path, constants.O_RDWR)
  const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  try {
    for (;;) writeSync(filler, 'x'.repeat(4_096))
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
  }
  closeSync(filler)
  return blocking
}

test('a log that nobody reads keeps the sidecar neither from leading nor from ending', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const stdout = fullPipe('full')
  t.after(() => closeSync(stdout))
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  taken.close()
  await once(taken, 'close')
  const args = flags('--election', 'full', '--log-level', 'debug', '--listen', `127.0.0.1:${port}`)
  const one = new SidecarProcess('full', args, { stdout })
  t.after(() => one.end())
  one.port = port
  const { generation } = await one.leads()
  const ledMs = performance.now()
  await until('some renewals go by', async () => {
    assert.equal((await one.leadership())?.generation, generation)
    return performance.now() - ledMs > 2 * TTL_MS ? true : null
  })
  one.kill('SIGTERM')
  const toldMs = performance.now()
  await until('it has ended', () => (one.ended ? true : null), SHUTDOWN_MS + SLACK_MS)
  assert.equal(await one.exited(), 0)
  assert.ok(performance.now() - toldMs < SHUTDOWN_MS + SLACK_MS)
})

const DEFECTS = {
  'a promise that nobody caught': `Promise.reject(new Error('planted'))`,
  'an exception that nobody caught': `setImmediate(() => { throw new Error('planted') })`,
} as const

for (const [defect, code] of Object.entries(DEFECTS)) {
  test(`${defect} ends the process with 1, says so, and the lease runs out`, {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    await withFleet(t, { args: flags(), size: 1 }, async (fleet) => {
      const module = `data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${code} })`)}`
      const args = flags('--election', fleet.election)
      const [other] = fleet.members
      const led = await fleet.leader()
      const one = await sidecar(t, 'planted', args, { environment: { NODE_OPTIONS: `--import ${module}` } })
      fleet.watcher.add(one)
      other?.kill('SIGTERM')
      const { answer } = await fleet.watcher.above(led.answer.generation ?? 0)
      assert.equal(answer.identity, 'planted')
      const next = fleet.watcher.above(answer.generation ?? 0)
      await fleet.add()
      one.kill('SIGUSR2')
      const hitMs = performance.now()
      assert.equal(await one.exited(), 1)
      assert.ok((await next).answeredMs - hitMs < TTL_MS + AFTER_EXPIRY_MS)
      await until(
        'the log says so',
        () => one.log.find(({ event, detail }) => event === 'defect' && detail === 'planted') ?? null,
      )
    })
  })
}
