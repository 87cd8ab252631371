/** The single executable has to do what the source does, on a host without Node. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort, type TestDatabase, testDatabase } from '../support/postgres.ts'
import { SidecarProcess, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const skip = process.platform === 'linux' ? false : 'the executable is made on Linux alone'
const BUILD_MOST_MS = 120_000
const COMMAND_MOST_MS = 30_000
const STARTS = 5

/** An application in a shell, which takes its time to end. */
const APPLICATION = `#!/bin/sh
trap 'sleep 0.2; echo "application: down"; exit 7' TERM
echo "application: up"
while :; do sleep 0.05; done
`

describe('the single executable', { skip }, () => {
  const folder = tempFolder()
  const executable = join(folder.path, 'tenure')
  let database: TestDatabase

  /** In an empty environment and folder: nothing but the file itself is there to be found. */
  const tenure = (...args: readonly string[]): Promise<{ stdout: string }> =>
    run(executable, args, { env: { PATH: folder.path }, cwd: folder.path, timeout: COMMAND_MOST_MS })

  async function sidecar(t: TestContext, identity: string, store: string): Promise<SidecarProcess> {
    // The shell drops what would start the source, and becomes the executable.
    const under = ['/bin/sh', '-c', `shift; exec '${executable}' "$@"`] as const
    const started = new SidecarProcess(identity, ['--store', store, '--ttl', '3s'], { under: [...under] })
    t.after(() => started.end())
    return started.listening()
  }

  before(
    async () => {
      const build = run(process.execPath, ['scripts/build-executable.ts', executable], { cwd: root })
      ;[database] = await Promise.all([testDatabase(), build])
    },
    { timeout: BUILD_MOST_MS },
  )
  after(async () => {
    await database.dispose()
    folder.remove()
  })

  test('says its version, its help and its settings, and how long it takes to start', async (t) => {
    assert.match((await tenure('version')).stdout, /^tenure \d+\.\d+\.\d+/)
    assert.match((await tenure('help', 'run')).stdout, /--store/)
    assert.match((await tenure('config', 'print', '--ttl', '9s')).stdout, /ttl: 9s/)
    const tookMs: number[] = []
    while (tookMs.length < STARTS) {
      const fromMs = performance.now()
      await tenure('version')
      tookMs.push(performance.now() - fromMs)
    }
    const megabytes = Math.round(statSync(executable).size / 2 ** 20)
    t.diagnostic(`${megabytes} MB, starts in ${Math.min(...tookMs).toFixed(0)} ms`)
  })

  test('is found by its name alone, as a shell does it', async () => {
    const options = { env: { PATH: folder.path }, cwd: '/' }
    assert.match((await run(basename(executable), ['version'], options)).stdout, /^tenure /)
  })

  test('exit codes and complaints are those of the program', async () => {
    await assert.rejects(tenure('config', 'print', '--ttl', '9'), { code: 2, stderr: /ttl/ })
    await assert.rejects(tenure('status', '--listen', '127.0.0.1:1'), {
      code: 1,
      stderr: /no sidecar answers/,
    })
  })

  test('leads on SQLite, answers every call, and ends in order', async (t) => {
    const one = await sidecar(t, 'web-1', `sqlite:${join(folder.path, 'lease.db')}`)
    const { generation } = await one.leads()
    for (const path of ['/leader', '/v1/history', '/openapi.json', '/livez', '/readyz', '/metrics', '/']) {
      assert.equal((await one.ask(path))?.status, 200, path)
    }
    assert.equal((await one.post('/v1/drained', { generation }))?.status, 200)
    one.kill('SIGTERM')
    assert.equal(await one.exited(), 0, one.stderr)
  })

  test('migrates PostgreSQL, leads there, reports, drains and hands over', async (t) => {
    assert.match((await tenure('migrate', '--store', database.url)).stdout, /^applied /)
    const one = await sidecar(t, 'web-1', database.url)
    const { generation } = await one.leads()
    const two = await sidecar(t, 'web-2', database.url)
    const listen = `127.0.0.1:${one.port}`
    assert.match(
      (await tenure('status', '--listen', listen)).stdout,
      /web-1 \(this instance\), under generation/,
    )
    assert.match((await tenure('drain', '--listen', listen)).stdout, /generation 1 has ended/)
    await tenure('wait', '--leader', '--timeout', '10s', '--listen', `127.0.0.1:${two.port}`)
    const after = await two.leadership()
    assert.ok(after !== null && Number(after.generation) > Number(generation))
    one.kill('SIGTERM')
    two.kill('SIGTERM')
    assert.deepEqual([await one.exited(), await two.exited()], [0, 0])
  })

  test('plays the demo, which starts it twice more', async () => {
    assert.match((await tenure('demo')).stdout, /under generation 2/)
  })

  test('the script of the docs, for a supervisor that knows one program, stops the application first', async (t) => {
    const docs = readFileSync(join(root, 'docs/deploy.md'), 'utf8')
    const [, script] = /```sh\n(#!\/bin\/sh\n[^`]*)```/.exec(docs) ?? []
    assert.ok(script !== undefined)
    writeFileSync(join(folder.path, 'start'), script)
    writeFileSync(join(folder.path, 'my-application'), APPLICATION, { mode: 0o755 })
    const env = {
      PATH: `${folder.path}:${process.env.PATH}`,
      TENURE_STORE: `sqlite:${join(folder.path, 'script.db')}`,
      TENURE_LISTEN: `127.0.0.1:${await freePort()}`,
    }
    const child = spawn('/bin/sh', [join(folder.path, 'start')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    let told = ''
    child.stdout.on('data', (chunk: Buffer) => {
      told += chunk
    })
    await until('the application runs and its sidecar leads', () =>
      told.includes('application: up') && told.includes('"elected"') ? true : null,
    )
    child.kill('SIGTERM')
    const [code] = await once(child, 'close')
    assert.equal(code, 7, 'not the exit code of the application')
    assert.match(told, /application: down.*"event":"shutdown".*the lease is free/s)
  })
})
