/** The clients in other languages, as programs of their own: examples/clients. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment, SidecarProcess } from '../support/sidecar.ts'
import { leadership } from '../support/stand-in.ts'
import { tempFolder } from '../support/temp.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/clients/', import.meta.url))
const SESSION = '5844b9a7-6ee5-4c42-b59f-673be5e19028'
const TEST_TIMEOUT_MS = 60_000
const PROGRAM_MOST_MS = 20_000
const NOT_LEADING = 3
/** A cold runtime on a busy machine may use its time-out up before its first question is through. */
const TRIES = 5
/** Longer than the answer is valid, shorter than the clients wait. */
const LATE_MS = 200
const LATE_VALID_FOR_MS = 100

const folder = tempFolder()
after(() => folder.remove())

interface Language {
  readonly name: string
  /** What is looked for, and how. */
  readonly needs: string
  readonly probe: readonly [string, ...string[]]
  readonly version?: RegExp
  /** Made once; null when there is nothing to make. */
  readonly build: readonly [string, ...string[]] | null
  readonly program: readonly [string, ...string[]]
  /** How it is run without being built, where that is slower. */
  readonly source?: readonly [string, ...string[]]
}

const GO_PROGRAM = join(folder.path, 'tenure-go')

const LANGUAGES: readonly Language[] = [
  {
    name: 'Python',
    needs: 'python3',
    probe: ['python3', '--version'],
    build: null,
    program: ['python3', join(EXAMPLES, 'python/tenure.py')],
  },
  {
    name: 'Go',
    needs: 'go 1.21 or later',
    probe: ['go', 'version'],
    version: /go1\.(?:2[1-9]|[3-9]\d)/,
    build: ['go', 'build', '-C', join(EXAMPLES, 'go'), '-o', GO_PROGRAM, '.'],
    program: [GO_PROGRAM],
  },
  {
    name: 'Java',
    needs: 'a JDK 17 or later',
    probe: ['javac', '--version'],
    version: /^\S+ (?:1[7-9]|[2-9]\d)/,
    build: ['javac', '-d', folder.path, join(EXAMPLES, 'java/Tenure.java')],
    program: ['java', '-XX:TieredStopAtLevel=1', '-cp', folder.path, 'Tenure'],
    source: ['java', join(EXAMPLES, 'java/Tenure.java')],
  },
  {
    name: 'shell',
    needs: 'curl',
    probe: ['curl', '--version'],
    build: null,
    program: ['sh', join(EXAMPLES, 'shell/tenure.sh')],
  },
]

/** What is missing on this machine; false when nothing is. */
function missing({ name, needs, probe: [program, ...args], version }: Language): string | false {
  const { stdout, status } = spawnSync(program, args, { encoding: 'utf8', timeout: PROGRAM_MOST_MS })
  if (status === 0 && (version === undefined || version.test(stdout))) return false
  return `the ${name} client is NOT tested: ${needs} is missing`
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function execute([program, ...args]: readonly [string, ...string[]]): Promise<Ended> {
  // A proxy of the environment must not come between a client and its sidecar.
  const nowhere = 'http://127.0.0.1:9'
  const env = cleanEnvironment({ http_proxy: nowhere, HTTP_PROXY: nowhere, NO_PROXY: '', no_proxy: '' })
  return new Promise((resolve) => {
    const child: ChildProcess = execFile(
      program,
      args,
      { env, timeout: PROGRAM_MOST_MS },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

async function told({ program }: Language, port: number, election?: string): Promise<Ended> {
  const ended = await execute([...program, String(port), ...(election === undefined ? [] : [election])])
  assert.equal(ended.stderr, '')
  return ended
}

/** Whatever the reason, it must never be "leading"; the reason itself is what a warm client gives. */
async function refuses(language: Language, port: number, why: RegExp, election?: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { code, stdout } = await told(language, port, election)
    assert.deepEqual([code, stdout.slice(0, 13)], [NOT_LEADING, 'not leading: '], stdout)
    if (why.test(stdout)) return
    if (tries === TRIES) assert.match(stdout, why)
  }
}

async function leads(
  language: Language,
  { port }: SidecarProcess,
  election?: string,
): Promise<RegExpExecArray> {
  for (let tries = 1; ; tries++) {
    const { code, stdout } = await told(language, port, election)
    const found = /^leading generation=(\d+) session=(\S+) validForMs=(\d+)\n$/.exec(stdout)
    if (code === 0 && found !== null) return found
    assert.ok(tries < TRIES, `${code}: ${stdout}`)
  }
}

const members: SidecarProcess[] = []
let started: Promise<readonly [SidecarProcess, SidecarProcess]> | null = null
after(() => Promise.all(members.map((member) => member.end())))

function member(identity: string): Promise<SidecarProcess> {
  const flags = ['--store', `sqlite:${join(folder.path, 'tenure.db')}`, '--election', 'fleet & co']
  const process = new SidecarProcess(identity, flags)
  members.push(process)
  return process.listening()
}

async function startPair(): Promise<readonly [SidecarProcess, SidecarProcess]> {
  const leader = await member('web-1')
  await leader.leads()
  return [leader, await member('web-2')]
}

/** One that leads and one that follows, for the whole file. */
function pair(): Promise<readonly [SidecarProcess, SidecarProcess]> {
  started ??= startPair()
  return started
}

/** A server of its own for a test; `respond` may also never answer. */
async function standIn(t: TestContext, respond: (response: ServerResponse) => void): Promise<number> {
  const server = createServer((_, response) => respond(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** Laid out as the sidecar lays it out. */
function leading(more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify(
    leadership({
      leading: true,
      generation: 7,
      session: SESSION,
      validForMs: 60_000,
      state: 'leading',
      ...more,
    }),
  )
}

function send(response: ServerResponse, body: string, status = 200, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

for (const language of LANGUAGES) {
  const { name } = language
  const options = { skip: missing(language), timeout: TEST_TIMEOUT_MS }

  if (language.build !== null) {
    const { build } = language
    test(`the ${name} client builds`, options, async () => {
      const { code, stderr } = await execute(build)
      assert.equal(code, 0, stderr)
    })
  }

  const { source } = language
  if (source !== undefined) {
    test(`the ${name} client runs from its source`, options, async (t) => {
      const port = await standIn(t, (response) => send(response, leading({ validForMs: null })))
      await refuses({ ...language, program: source }, port, /leading/)
    })
  }

  test(
    `the ${name} client gives the tenure of a sidecar that leads, also by the name of its election`,
    options,
    async () => {
      const [leader] = await pair()
      const { generation, session } = await leader.leads()
      for (const election of [undefined, 'fleet & co']) {
        const [, toldGeneration, toldSession, validForMs] = await leads(language, leader, election)
        assert.deepEqual([Number(toldGeneration), toldSession], [generation, session])
        assert.ok(Number(validForMs) > 0 && Number(validForMs) <= 1_000, validForMs)
      }
    },
  )

  test(
    `the ${name} client says "not leading" beside a sidecar that follows, and for an unknown election`,
    options,
    async () => {
      const [, follower] = await pair()
      await refuses(language, follower.port, /following/)
      await refuses(language, follower.port, /does not run here/, 'other')
    },
  )

  test(`to the ${name} client no answer means no: nobody listens, and nobody answers`, options, async (t) => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    await refuses(language, port, /no answer|refused/i)
    await refuses(language, await standIn(t, () => {}), /time/i)
  })

  test(
    `the ${name} client counts from before the send: an answer that comes too late is "not leading"`,
    options,
    async (t) => {
      const port = await standIn(t, (response) => {
        setTimeout(() => send(response, leading({ validForMs: LATE_VALID_FOR_MS })), LATE_MS)
      })
      await refuses(language, port, /too late/)
    },
  )

  test(
    `the ${name} client takes nothing but a whole answer 200 for "leading", and follows no redirect`,
    options,
    async (t) => {
      const leader = await standIn(t, (response) => send(response, leading()))
      const location = `http://127.0.0.1:${leader}/v1/leadership`
      const others = [
        await standIn(t, (response) => send(response, leading(), 500)),
        await standIn(t, (response) => send(response, leading(), 307, { location })),
        await standIn(t, (response) => send(response, leading({ validForMs: null }))),
        await standIn(t, (response) => send(response, leading().slice(0, -40))),
      ]
      assert.equal(
        (await told(language, leader)).stdout.startsWith('leading generation=7 '),
        true,
        'the stand-in serves',
      )
      for (const port of others) await refuses(language, port, /./)
    },
  )
}
