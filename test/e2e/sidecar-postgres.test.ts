import { PostgresBench } from '../support/postgres-bench.ts'
import { describeHandover } from './handover.ts'

const bench = await PostgresBench.start()

describeHandover('PostgreSQL', async () => bench.url, { ttlMs: 3_000, wakeUpMs: 200 })
