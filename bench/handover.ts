/** `drained` → the successor leads, on PostgreSQL: measured by an application that asks both sidecars. */
import { request } from 'node:http'
import { ask, bundledSidecar, leads, type Measured, print, quantile } from './rig.ts'

const HANDOVERS = 200
/** Long enough that whoever stepped down never takes the lease back before the other one could. */
const HOLD_OFF_MS = 400
const HANDOVER_MOST_MS = 5_000

export interface Answer {
  readonly leading: boolean
  readonly generation: number | null
}

/** Says `drained`; the status of the answer. */
export function drained(port: number, generation: number): Promise<number> {
  const body = JSON.stringify({ generation })
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'tenure-request': '1',
    }
    const sent = request(
      { host: '127.0.0.1', port, path: '/v1/drained', method: 'POST', headers },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

export async function answerOf(port: number): Promise<Answer> {
  return JSON.parse((await ask(port, '/v1/leadership')).body)
}

/** Hands over once, from whoever leads to the other one, and returns how long nobody led for the application. */
async function handOver(from: Measured, to: Measured): Promise<number> {
  const { generation } = JSON.parse((await leads(from.port)).body) as Answer
  if (generation === null) throw new Error('a leader without a generation')
  const begin = performance.now()
  const status = await drained(from.port, generation)
  if (status !== 200) throw new Error(`drained: ${status}`)
  for (;;) {
    const { leading, generation: next } = await answerOf(to.port)
    const tookMs = performance.now() - begin
    if (leading && next !== null && next > generation) return tookMs
    if (tookMs > HANDOVER_MOST_MS) throw new Error(`the successor does not lead after ${HANDOVER_MOST_MS} ms`)
  }
}

export async function handover(postgresUrl: string): Promise<void> {
  const flags = ['--store', postgresUrl, '--election', 'bench-handover', '--hold-off', `${HOLD_OFF_MS}ms`]
  const first = await bundledSidecar([...flags, '--identity', 'first'])
  await leads(first.port)
  const second = await bundledSidecar([...flags, '--identity', 'second'])
  await ask(second.port, '/v1/leadership')
  const tookMs: number[] = []
  try {
    let [from, to] = [first, second]
    for (let time = 0; time < HANDOVERS; time++) {
      // Both stand again before the next one, as they would in life.
      await new Promise((resolve) => setTimeout(resolve, HOLD_OFF_MS + 50))
      tookMs.push(await handOver(from, to))
      ;[from, to] = [to, from]
    }
  } finally {
    await Promise.all([first.stop(), second.stop()])
  }
  const [p50, p99] = [quantile(tookMs, 0.5), quantile(tookMs, 0.99)]
  print(
    `drained → successor leads, ${HANDOVERS} times: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${Math.max(...tookMs).toFixed(1)} ms`,
  )
}
