import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, it } from 'node:test'
import { promisify } from 'node:util'
import { startPostgres } from '../support/postgres.ts'
import { cleanEnvironment } from '../support/sidecar.ts'

const run = promisify(execFile)
const PROGRAM = ['--conditions=tenure-source', 'examples/fenced-writes/run.ts']

const server = await startPostgres()
after(() => server.dispose())

it('the example of fenced writes tells its story on a real PostgreSQL, and it turns out as told', async () => {
  const env = cleanEnvironment({ DATABASE_URL: server.url(await server.createDatabase()) })
  const { stdout } = await run(process.execPath, PROGRAM, { env })
  assert.match(
    stdout,
    /a +wakes and writes, as it believes that it still leads\.\n.*by a, generation 1\. What was newer is lost/,
  )
  assert.match(stdout, /b +wakes and writes: refused; a leads under generation 3\.\n.*by a, generation 3\./)
})

it('without a database it says what to set', async () => {
  const failed = run(process.execPath, PROGRAM, { env: cleanEnvironment() })
  await assert.rejects(failed, { code: 2, stderr: /DATABASE_URL is not set/ })
})
