/** The bundle has to do what the source does: parts of it are loaded in another way, and some are replaced. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cleanEnvironment, SidecarProcess } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

describe('the bundle', () => {
  const folder = tempFolder()
  const bundle = join(folder.path, 'tenure.mjs')
  const tenure = (...args: readonly string[]): Promise<{ stdout: string }> =>
    run(process.execPath, [bundle, ...args], { env: cleanEnvironment() })

  before(() => run(process.execPath, ['scripts/build.ts', bundle], { cwd: root }))
  after(() => folder.remove())

  test('says its version, its help, its settings and its schema', async () => {
    assert.match((await tenure('version')).stdout, /^tenure \d+\.\d+\.\d+/)
    assert.match((await tenure('help', 'run')).stdout, /--store/)
    assert.match((await tenure('config', 'print', '--ttl', '9s')).stdout, /ttl: 9s/)
    const schema = JSON.parse((await tenure('config', 'schema')).stdout)
    assert.ok('ttl' in schema.properties)
  })

  test('prints the SQL of the migrations', async () => {
    const { stdout } = await tenure('migrate', '--print', '--store', 'postgres://db.internal/app')
    assert.match(stdout, /CREATE TABLE tenure\.lease/)
  })

  test('reads a configuration file, and names what is wrong in it by line and column', async () => {
    const file = join(folder.path, 'tenure.yaml')
    writeFileSync(file, 'ttl: 6s\n')
    assert.match((await tenure('config', 'print', '--config', file)).stdout, /ttl: 6s/)
    writeFileSync(file, 'ttl: 6s\nmargni: 1s\n')
    await assert.rejects(tenure('config', 'print', '--config', file), /tenure\.yaml:2:1.*"margni".*margin/s)
  })

  test('leads on SQLite, answers every call, and ends in order', async (t) => {
    const store = `sqlite:${join(folder.path, 'lease.db')}`
    const one = new SidecarProcess('bundled', ['--store', store], { program: bundle })
    t.after(() => one.end())
    await one.listening()
    const { generation } = await one.leads()
    for (const path of ['/leader', '/v1/history', '/openapi.json', '/livez', '/readyz', '/metrics', '/']) {
      assert.equal((await one.ask(path))?.status, 200, path)
    }
    assert.equal((await one.post('/v1/drained', { generation: (generation ?? 0) + 1 }))?.status, 409)
    assert.equal((await one.post('/v1/drained', { generation: 'seven' }))?.status, 400)
    assert.equal((await one.post('/v1/drained', { generation }))?.status, 200)
    one.kill('SIGTERM')
    assert.equal(await one.exited(), 0)
  })

  test('takes bodies in UTF-8 and says that it takes no others', async (t) => {
    const store = `sqlite:${join(folder.path, 'charset.db')}`
    const one = new SidecarProcess('bundled', ['--store', store], { program: bundle })
    t.after(() => one.end())
    await one.listening()
    const statusOf = async (charset: string, body: Uint8Array): Promise<number> => {
      const headers = { 'tenure-request': '1', 'content-type': `application/json; charset=${charset}` }
      const url = `http://127.0.0.1:${one.port}/v1/resign`
      const response = await fetch(url, { method: 'POST', headers, body: Buffer.from(body) })
      await response.text()
      return response.status
    }
    assert.equal(await statusOf('utf-8', Buffer.from('{"holdOff":"1s"}')), 200)
    assert.equal(await statusOf('utf-16', Buffer.from('{"holdOff":"1s"}', 'utf16le')), 415)
    assert.equal(await statusOf('latin1', Buffer.from('{"holdOff":"1s"}')), 415)
  })

  test('logs for people as well', async (t) => {
    const store = `sqlite:${join(folder.path, 'pretty.db')}`
    const flags = ['run', '--listen', '127.0.0.1:0', '--store', store, '--log-format', 'pretty']
    const child = execFile(process.execPath, [bundle, ...flags], { env: cleanEnvironment() })
    t.after(() => child.kill('SIGKILL'))
    let told = ''
    for await (const chunk of child.stdout ?? []) {
      told += chunk
      if (/INFO.*this instance leads, under generation 1/.test(told)) return
    }
    assert.fail(`it did not say that it leads: ${told}`)
  })
})
