/** What the image holds and runs. A container engine builds and runs it where there is one; without, the pieces are run. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Bundle, buildBundle } from '../support/bundle.ts'
import {
  addLibraries,
  asContainer,
  inFolder,
  layOut,
  NAMESPACES,
  noNamespaces,
} from '../support/image/bare-root.ts'
import { readStages } from '../support/image/dockerfile.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { SidecarProcess, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const skip = process.platform === 'linux' ? false : 'the image is one of Linux'

const SHUTDOWN_MS = 1_500
const SLACK_MS = 250
const BUILD_MOST_MS = 900_000
const ENGINE_ASKED_MOST_MS = 5_000

const [build, image] = readStages()
assert.ok(build !== undefined && image !== undefined)
const entrypoint = image.words('ENTRYPOINT')

describe('what the image holds', () => {
  test('Node, the bundle and its bill of materials; no shell line builds or starts anything in it', () => {
    assert.deepEqual(
      image.copies.flatMap(({ sources }) => sources),
      ['/usr/local/bin/node', '/build/dist/tenure.mjs', '/build/dist/sbom.json'],
    )
    for (const name of ['RUN', 'ADD', 'SHELL', 'HEALTHCHECK']) assert.ok(!image.names.includes(name), name)
    assert.deepEqual(image.words('CMD'), ['run'])
  })

  test('its labels say what it is, under the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.ok(image.all('ARG').includes(`VERSION=${version}`))
    for (const key of ['title', 'description', 'licenses', 'version', 'revision']) {
      assert.match(image.last('LABEL'), new RegExp(`org\\.opencontainers\\.image\\.${key}="\\S`))
    }
  })

  test('it runs as nobody, by a number that Kubernetes can check', () => {
    const [, user, group] = /^(\d+):(\d+)$/.exec(image.last('USER')) ?? []
    assert.ok(Number(user) > 0 && Number(group) > 0)
  })

  test('the bill of materials lists what runs, and no tool of the build', async (t) => {
    const folder = tempFolder()
    t.after(() => folder.remove())
    mkdirSync(join(folder.path, 'dist'))
    for (const file of ['package.json', 'package-lock.json'])
      copyFileSync(join(root, file), join(folder.path, file))
    const line = build.all('RUN').find((text) => text.includes('npm sbom'))
    await run('/bin/sh', ['-c', line ?? 'false'], { cwd: folder.path })
    const bill = JSON.parse(readFileSync(join(folder.path, 'dist/sbom.json'), 'utf8'))
    assert.equal(bill.bomFormat, 'CycloneDX')
    const names = new Set(bill.components.map(({ name }: { name: string }) => name))
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const name of Object.keys(dependencies)) assert.ok(names.has(name), `${name} is missing`)
    for (const name of ['esbuild', 'typescript', 'node']) assert.ok(!names.has(name), `${name} does not run`)
  })

  test('the build is given the files that it copies, and nothing else', () => {
    const given = readFileSync(join(root, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    const copied = build.copies.flatMap(({ sources }) => sources)
    assert.deepEqual(given.toSorted(), copied.toSorted())
  })
})

describe('what the image runs, from a folder that holds what the image would', { skip }, () => {
  const bare = tempFolder()
  let database: TestDatabase
  let bundle: Bundle

  before(async () => {
    ;[database, bundle] = await Promise.all([testDatabase(), buildBundle()])
    layOut(bare.path, image, (path) => {
      if (path === '/usr/local/bin/node') return process.execPath
      // The bill of materials is not run.
      return path.endsWith('.mjs') ? bundle.path : join(root, 'package.json')
    })
    addLibraries(bare.path, process.execPath)
    const migrate = inFolder(bare.path, [...entrypoint, 'migrate', '--store', database.url])
    await run('/bin/sh', ['-c', migrate])
  })
  after(async () => {
    await database.dispose()
    bare.remove()
    bundle.remove()
  })

  async function started(t: TestContext, under: readonly [string, ...string[]], line: string) {
    const flags = ['--store', database.url, '--ttl', '3s', '--promise', '1s']
    // The shell drops what would start the source.
    const one = new SidecarProcess('web-1', flags, { under: [...under, '/bin/sh', '-c', `shift; ${line}`] })
    t.after(() => one.end())
    await one.listening()
    await one.leads()
    return one
  }

  test('needs no environment, leads, and ends with 0 on SIGTERM', async (t) => {
    const one = await started(t, ['env'], inFolder(bare.path, entrypoint))
    one.kill('SIGTERM')
    assert.equal(await one.exited(), 0, one.stderr)
  })

  test('as process 1, as nobody, with a root that cannot be written, it keeps its promise on SIGTERM and ends with 0', {
    skip: skip || noNamespaces(),
  }, async (t) => {
    const line = asContainer(bare.path, entrypoint, image.last('USER'))
    const one = await started(t, NAMESPACES, line)
    const pid = await until('it runs in its namespace', () => childOf(one.child.pid ?? 0))
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    assert.match(status, /^NSpid:\s+\d+\s+1$/m)
    assert.match(status, /^Uid:\s+65532\s/m)
    assert.match(status, /^CapEff:\s+0+$/m)
    assert.match(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'), /^\d+ \d+ \S+ \S+ \/ ro/m)
    const promised = await one.timed()
    assert.ok(promised?.answer.leading && promised.answer.validForMs !== null)
    const toldMs = performance.now()
    process.kill(pid, image.last('STOPSIGNAL') as NodeJS.Signals)
    assert.equal(await one.exited(), 0, one.stderr)
    const endedMs = performance.now()
    assert.ok(endedMs >= promised.sentMs + promised.answer.validForMs, 'it ended inside its promise')
    assert.ok(endedMs - toldMs <= SHUTDOWN_MS + SLACK_MS, `took ${(endedMs - toldMs).toFixed(0)} ms`)
  })
})

describe('the image itself', () => {
  const engine = ['docker', 'podman'].find(
    (name) => spawnSync(name, ['info'], { stdio: 'ignore', timeout: ENGINE_ASKED_MOST_MS }).status === 0,
  )
  const none =
    engine === undefined && 'NO CONTAINER ENGINE IS HERE, so the image is not built: its pieces are run above'

  test('is built, leads on a read-only root, and stops with 0', {
    skip: none,
    timeout: BUILD_MOST_MS,
  }, async () => {
    assert.ok(engine !== undefined)
    const tag = `tenure-test:${process.pid}`
    await run(engine, ['build', '-t', tag, '.'], { cwd: root, maxBuffer: 2 ** 26 })
    const flags = ['--detach', '--read-only', '--cap-drop=ALL', '--tmpfs', '/data:mode=1777']
    const { stdout } = await run(engine, ['run', ...flags, tag, 'run', '--store', 'sqlite:/data/tenure.db'])
    const container = stdout.trim()
    try {
      const leads = ['exec', container, ...entrypoint, 'wait', '--leader', '--timeout', '20s']
      await run(engine, leads)
      await run(engine, ['stop', container])
      const ended = await run(engine, ['inspect', '--format', '{{.State.ExitCode}}', container])
      assert.equal(ended.stdout.trim(), '0')
    } finally {
      await run(engine, ['rm', '--force', container])
      await run(engine, ['rmi', tag])
    }
  })
})

/** The process that another one has started, if it has. */
function childOf(pid: number): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? null : Number(children.split(' ')[0])
}
