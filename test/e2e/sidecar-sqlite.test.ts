import { join } from 'node:path'
import { after } from 'node:test'
import { tempFolder } from '../support/temp.ts'
import { describeHandover } from './handover.ts'

const folder = tempFolder()
after(() => folder.remove())

describeHandover('SQLite', async () => `sqlite:${join(folder.path, 'tenure.db')}`, {
  ttlMs: 2_000,
  wakeUpMs: 500,
})
