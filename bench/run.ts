/** `npm run bench [-- claims|throughput|memory|start|handover|kubernetes|fencing …]`: everything that docs/performance.md reports. */
import { existsSync } from 'node:fs'
import { systemClock } from '../src/clock/system-clock.ts'
import { migrate } from '../src/stores/postgres/migrate.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { claims } from './claims.ts'
import { fencing } from './fencing.ts'
import { handover } from './handover.ts'
import { kubernetes } from './kubernetes.ts'
import { memory } from './memory.ts'
import { BUNDLE, print } from './rig.ts'
import { start } from './start.ts'
import { throughput } from './throughput.ts'

const wanted = process.argv.slice(2)
const wants = (name: string): boolean => wanted.length === 0 || wanted.includes(name)

if (!existsSync(BUNDLE)) throw new Error('dist/tenure.mjs is not there: run "npm run build" first')
print(`Node ${process.version}`)
if (wants('claims')) claims()
if (wants('throughput')) await throughput()
if (wants('start')) await start()
if (wants('memory') || wants('handover')) {
  const postgres = await startPostgres()
  try {
    const url = postgres.url('postgres')
    await migrate({ url, password: null, passwordFile: null }, { clock: systemClock(), note: () => {} })
    if (wants('memory')) await memory(url)
    if (wants('handover')) await handover(url)
  } finally {
    await postgres.dispose()
  }
}
if (wants('fencing')) await fencing()
if (wants('kubernetes')) await kubernetes()
