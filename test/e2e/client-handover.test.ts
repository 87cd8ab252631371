/** The client library with real sidecars, on their real clocks. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type RunOutcome, type RunTenure, TenureClient } from '../../src/client/index.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

/** The promise is the longest there is, so that a busy machine does not end a run by itself. */
const TTL_MS = 10_000
const PROMISE_MS = TTL_MS / 10
/** For what the machine of the test may be late by, beside what the rule allows. */
const LATE_MS = 250
/** For the first answers of a cold process on a busy machine. */
const PATIENT_MS = 10_000
const TEST_TIMEOUT_MS = 60_000

interface Instance {
  readonly sidecar: SidecarProcess
  readonly client: TenureClient
}

async function instance(t: TestContext, identity: string, store: string): Promise<Instance> {
  const flags = ['--store', store, '--ttl', `${TTL_MS}ms`, '--election', 'fleet']
  const started = await sidecar(t, identity, flags)
  return {
    sidecar: started,
    client: new TenureClient({ url: `http://127.0.0.1:${started.port}`, election: 'fleet' }),
  }
}

function storeOf(t: TestContext): string {
  const folder = tempFolder()
  t.after(() => folder.remove())
  return `sqlite:${join(folder.path, 'tenure.db')}`
}

interface Began {
  readonly tenure: RunTenure
  readonly signal: AbortSignal
  readonly outcome: Promise<RunOutcome<string>>
}

/** Work that lasts until its signal is aborted; resolves once it has begun. */
async function endless({ sidecar, client }: Instance): Promise<Began> {
  // The first answers of a cold process use up most of what they promise.
  await sidecar.leads()
  await client.check()
  const began = Promise.withResolvers<[RunTenure, AbortSignal]>()
  const outcome = client.run((tenure, signal) => {
    began.resolve([tenure, signal])
    return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped')))
  })
  const [tenure, signal] = await began.promise
  await until('it is kept up', () => (tenure.validForMs > PROMISE_MS / 2 ? true : null))
  return { tenure, signal, outcome }
}

/** Resolves with how long it took from now until the signal was aborted. */
function abortedAfter(signal: AbortSignal): Promise<number> {
  const fromMs = performance.now()
  return new Promise((resolve) => {
    const tell = () => resolve(performance.now() - fromMs)
    if (signal.aborted) tell()
    else signal.addEventListener('abort', tell, { once: true })
  })
}

test('the first to return hands over: the second leads within half a second, under a later generation', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const store = storeOf(t)
  const [first, second] = [await instance(t, 'web-1', store), await instance(t, 'web-2', store)]
  await first.sidecar.leads()
  const stop = new AbortController()
  t.after(() => stop.abort())
  const { signal } = stop
  const works = Promise.withResolvers<string>()
  const began = Promise.withResolvers<RunTenure>()
  const one = first.client.run(
    (tenure) => {
      began.resolve(tenure)
      return works.promise
    },
    { signal },
  )
  const held = await began.promise
  let secondBeganMs: number | null = null
  const two = second.client.run(
    (tenure) => {
      secondBeganMs = performance.now()
      return { generation: tenure.generation }
    },
    { signal },
  )
  // Longer than any promise: the run has to keep its tenure up.
  const fromMs = performance.now()
  await until('the first works on', () => (performance.now() - fromMs > 2 * PROMISE_MS ? true : null))
  assert.equal(held.isValid(), true)
  assert.equal(secondBeganMs, null)
  const returnedMs = performance.now()
  works.resolve('done')
  const ended = await one
  assert.ok(ended.ended === 'returned' && ended.value === 'done')
  const next = await two
  assert.ok(next.ended === 'returned')
  assert.ok(next.value.generation > held.generation)
  const tookMs = Number(secondBeganMs) - returnedMs
  t.diagnostic(`handed over in ${tookMs.toFixed(0)} ms`)
  assert.ok(tookMs < 500 + LATE_MS, `${tookMs} ms`)
})

for (const [signal, what] of [
  ['SIGSTOP', 'stands still'],
  ['SIGKILL', 'is killed'],
] as const) {
  test(`when the sidecar ${what} (${signal}), the signal of a run is aborted within its validity`, {
    timeout: TEST_TIMEOUT_MS,
  }, async (t) => {
    const one = await instance(t, 'web-1', storeOf(t))
    const run = await endless(one)
    const aborted = abortedAfter(run.signal)
    one.sidecar.kill(signal)
    const tookMs = await aborted
    t.diagnostic(`aborted after ${tookMs.toFixed(0)} ms`)
    assert.ok(tookMs < PROMISE_MS + LATE_MS, `${tookMs} ms`)
    assert.equal(run.tenure.isValid(), false)
    const outcome = await run.outcome
    assert.ok(outcome.ended === 'lost' && outcome.reason === 'expired', JSON.stringify(outcome))
  })
}

test('a sidecar that thaws after a run was lost hears of drained, and the next run leads under a later generation', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const one = await instance(t, 'web-1', storeOf(t))
  const run = await endless(one)
  await one.sidecar.freeze()
  const outcome = await run.outcome
  assert.equal(outcome.ended, 'lost')
  one.sidecar.thaw()
  const next = await one.client.run(({ generation }) => generation)
  assert.ok(next.ended === 'returned')
  assert.ok(next.value > run.tenure.generation)
})

test('a sidecar that is told to stop is drained by the run, and releases without waiting its drain time out', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const store = storeOf(t)
  const flags = ['--store', store, '--ttl', `${TTL_MS}ms`, '--election', 'fleet', '--drain', '30s']
  const leaving = await sidecar(t, 'web-1', flags)
  const client = new TenureClient({ url: `http://127.0.0.1:${leaving.port}` })
  const run = await endless({ sidecar: leaving, client })
  const fromMs = performance.now()
  leaving.kill('SIGTERM')
  const outcome = await run.outcome
  assert.ok(outcome.ended === 'lost' && outcome.reason === 'draining', JSON.stringify(outcome))
  assert.equal(await leaving.exited(), 0)
  const tookMs = performance.now() - fromMs
  t.diagnostic(`told, drained and gone in ${tookMs.toFixed(0)} ms`)
  assert.ok(tookMs < PROMISE_MS + 1_500 + LATE_MS, `${tookMs} ms`)
})

test('several elections in one sidecar: without a name the answer repeats the remedy, with one it serves', {
  timeout: TEST_TIMEOUT_MS,
}, async (t) => {
  const flags = ['--store', storeOf(t), '--election', 'fleet', '--election', 'mail']
  const both = await sidecar(t, 'web-1', flags)
  const url = `http://127.0.0.1:${both.port}`
  const unnamed = await new TenureClient({ url, timeoutMs: PATIENT_MS }).check()
  assert.ok(!unnamed.leading && unnamed.reason === 'refused', JSON.stringify(unnamed))
  assert.match(unnamed.message, /fleet, mail.*add \?election=NAME/)
  const unknown = await new TenureClient({ url, election: 'post', timeoutMs: PATIENT_MS }).check()
  assert.ok(!unknown.leading && unknown.reason === 'refused', JSON.stringify(unknown))
  assert.match(unknown.message, /"post"/)
  const outcome = await new TenureClient({ url, election: 'mail' }).run(({ election }) => election)
  assert.ok(outcome.ended === 'returned' && outcome.value === 'mail', JSON.stringify(outcome))
  assert.equal((await both.leads(undefined, 'fleet')).leading, true)
})

test('watch tells of a sidecar that comes, leads and goes', { timeout: TEST_TIMEOUT_MS }, async (t) => {
  const one = await instance(t, 'web-1', storeOf(t))
  const seen: string[] = []
  const stop = new AbortController()
  for await (const check of one.client.watch({ signal: stop.signal })) {
    seen.push(check.leading ? `leading ${check.tenure.generation}` : check.reason)
    if (check.leading) one.sidecar.kill('SIGKILL')
    else if (seen.includes('leading 1')) stop.abort()
  }
  // On a machine that is busy the last question may run into its time-out before the connection breaks.
  assert.match(seen.slice(-2).join(', '), /^leading 1, (?:unreachable|timeout)$/)
})
