/** A runner: `DATABASE_URL=… node examples/escalation/run.ts --runner a`. Ends on SIGTERM, after the step at hand. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { alerts } from './alerts.ts'
import { climb, type Runner } from './climb.ts'
import { databaseUrl, flagsOr, whole } from './command.ts'
import { readLadder } from './ladder.ts'

const USAGE =
  'DATABASE_URL=postgres://… run.ts [--runner NAME] [--lease-ms 30000] [--batch 20] [--poll-ms 500]'

const flags = flagsOr(USAGE, () => {
  const { values } = parseArgs({
    options: {
      runner: { type: 'string', default: 'runner' },
      'lease-ms': { type: 'string', default: '30000' },
      batch: { type: 'string', default: '20' },
      'poll-ms': { type: 'string', default: '500' },
    },
  })
  return {
    name: values.runner,
    leaseMs: whole('lease-ms', values['lease-ms'], 1),
    batch: whole('batch', values.batch, 1),
    pollMs: whole('poll-ms', values['poll-ms'], 0),
  }
})
const stop = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())

const write = (line: object) => process.stdout.write(`${JSON.stringify({ runner: flags.name, ...line })}\n`)

const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2, query_timeout: 10_000 })
pool.on('error', (error) => write({ event: 'database', detail: error.message }))

await work()
await pool.end()

async function work(): Promise<void> {
  const runner: Runner = {
    name: flags.name,
    pool,
    work: alerts(flags.leaseMs, (entry) => write({ event: entry.op, ...entry })),
    ladder: await readLadder(pool),
  }
  while (!stop.signal.aborted) {
    try {
      if ((await batch(runner)) === 0) await idle()
    } catch (error) {
      write({ event: 'fault', detail: String(error) })
      await idle()
    }
  }
}

/** Claims a batch and takes one step for each alert in it. A batch may outlive its lease: `apply` tells. */
async function batch(runner: Runner): Promise<number> {
  const items = await runner.work.claim(pool, { limit: flags.batch })
  const startMs = performance.now()
  for (const [i, item] of items.entries()) {
    if (stop.signal.aborted) {
      await runner.work.release(pool, items.slice(i))
      break
    }
    write({ event: 'step', alert: item.key, step: item.row.step, became: await climb(runner, item) })
  }
  if (items.length > 0)
    write({ event: 'batch', size: items.length, tookMs: Math.round(performance.now() - startMs) })
  return items.length
}

async function idle(): Promise<void> {
  await sleep(flags.pollMs, undefined, { signal: stop.signal }).catch(() => undefined)
}
