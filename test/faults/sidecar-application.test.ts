/** A leader must be alive: the lease follows the application beside the sidecar. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { CHECK_EVERY_MS, CHECK_TIMEOUT_MS } from '../../src/sidecar/app-health.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TTL_MS = 1_000
const TEST_TIMEOUT_MS = 40_000
const SLACK_MS = 1_000

const folder = tempFolder()
after(() => folder.remove())

/** An application that answers with what it is told to; `null`: not at all. */
class Application {
  status: number | null = 200
  checks = 0
  readonly #server = createServer((_, response) => {
    this.checks++
    if (this.status !== null) response.writeHead(this.status).end()
  })

  async start(t: TestContext): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    t.after(() => {
      this.#server.close()
      this.#server.closeAllConnections()
    })
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/health`
  }

  /** Waits until it was asked so often again. */
  async checked(times: number): Promise<void> {
    const before = this.checks
    await until(`the application is asked ${times} times`, () =>
      this.checks >= before + times ? true : null,
    )
  }
}

const flags = (election: string) => [
  ...['--store', `sqlite:${join(folder.path, 'tenure.db')}`],
  ...['--ttl', `${TTL_MS}ms`, '--election', election],
]

async function steppedDown(one: SidecarProcess, mostMs: number): Promise<void> {
  const why = await until(
    `${one.identity} steps down`,
    async () => {
      const told = await one.report()
      return told?.leading === false ? told.reason : null
    },
    mostMs,
  )
  assert.equal(why, 'unhealthy')
}

test('a leader whose application fails its checks resigns; it does not stand again before it is well', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const [application, other] = [new Application(), new Application()]
  other.status = 503
  const [url, otherUrl] = [await application.start(t), await other.start(t)]
  const args = [...flags('health'), '--app-health-failures', '2']
  const first = await sidecar(t, 'first', [...args, '--app-health', url])
  const second = await sidecar(t, 'second', [...args, '--app-health', otherUrl])
  const led = await first.leads()
  application.status = null
  const failedMs = 2 * (CHECK_EVERY_MS + CHECK_TIMEOUT_MS)
  await steppedDown(first, failedMs + SLACK_MS)
  // Neither is well, and the lease is free: nobody takes it, however often it is looked at.
  await other.checked(1)
  for (const one of [first, second]) {
    const told = await one.report()
    assert.deepEqual([told?.leading, told?.current?.holder], [false, null])
    assert.equal((await one.ask('/readyz'))?.status, 200)
  }
  other.status = 200
  const taken = await second.leads(CHECK_EVERY_MS + TTL_MS + SLACK_MS)
  assert.ok((taken.generation ?? 0) > (led.generation ?? 0))
  second.kill('SIGKILL')
  const killedMs = performance.now()
  await until('two ttl go by', async () => {
    assert.equal((await first.report())?.leading, false, 'a sick candidate stood')
    return performance.now() - killedMs > 2 * TTL_MS ? true : null
  })
  application.status = 204
  await first.leads(CHECK_EVERY_MS + CHECK_TIMEOUT_MS + SLACK_MS)
})

test('a leader whose application stops asking resigns, and does not stand until it asks again', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const requiredMs = 1_000
  const one = await sidecar(t, 'one', [...flags('polls'), '--require-polls', `${requiredMs}ms`])
  await one.leads()
  const fromMs = performance.now()
  await until('it leads for as long as it is asked', async () => {
    assert.equal((await one.leadership())?.leading, true)
    return performance.now() - fromMs > 2 * requiredMs ? true : null
  })
  await steppedDown(one, requiredMs + SLACK_MS)
  const silentMs = performance.now()
  await until('it stays so while nobody but an onlooker asks', async () => {
    assert.equal((await one.report())?.leading, false)
    return performance.now() - silentMs > 2 * TTL_MS ? true : null
  })
  await one.leads(TTL_MS + SLACK_MS)
})
