/** Every command in the documentation is run: here, or by the test that is named for it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { documentedCommands } from '../support/docs.ts'
import { testDatabase } from '../support/postgres.ts'
import { cleanEnvironment, SidecarProcess } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

/** Run elsewhere: the file that does so, and what shows in it that it does. */
const ELSEWHERE: readonly (readonly [RegExp, string, RegExp])[] = [
  [/^npm ci && npm test$/, '.ci/run', /^npm test$/m],
  [/^npm (ci|test|run (lint|types))$/, '.ci/run', /^npm ci$/m],
  [/^npm run build$/, '.ci/run', /^npm run build$/m],
  [/^npm run gen$/, '.ci/run', /^npm run gen:check$/m],
  [/--store kubernetes:/, 'test/faults/sidecar-kubernetes.test.ts', /kubernetes:/],
  [/^kubectl apply .*role\.yaml/, 'test/faults/kubernetes-deploy-accepted.test.ts', /deployPath/],
  [/^kubectl (?!apply)/, 'test/faults/kubernetes-deploy-helm.test.ts', /helm/i],
  [/^helm /, 'test/faults/kubernetes-deploy-helm.test.ts', /install/],
  [/^(cd deploy\/compose|docker compose )/, 'test/e2e/compose.test.ts', /COMPOSE_FILE/],
  [/^npm ci && npm run build:executable$/, 'test/e2e/executable.test.ts', /build-executable/],
  [/^(sudo (install|systemctl) |journalctl )/, 'test/e2e/systemd.test.ts', /tenure@/],
  [/^#!\/bin\/sh\ntenure run &/, 'test/e2e/executable.test.ts', /docs\/deploy\.md/],
  [/tenure\.(py|sh)|Tenure\.java|cd go && go run/, 'test/e2e/clients-examples.test.ts', /Tenure\.java/],
  [
    /examples\/escalation|^kill -9 %2$|^export DATABASE_URL/,
    'test/faults/work-escalation.test.ts',
    /examples\/escalation/,
  ],
  [/examples\/fenced-writes/, 'test/e2e/fenced-writes-example.test.ts', /examples\/fenced-writes/],
  [/^npm run build && npm run bench/, 'bench/run.ts', /everything that docs\/performance\.md reports/],
]

/** How a command shows that it did what the page says. */
interface Proof {
  readonly code: number
  readonly output: RegExp
  /** What runs until it is told to stop, is, once it says this. */
  readonly stopAt?: RegExp
}

const HERE: readonly (readonly [RegExp, Proof])[] = [
  [/^npm( ci && npm)? start$/, { code: 0, output: /elected/, stopAt: /elected/ }],
  [/^npm (ci && npm )?run tenure -- demo$/, { code: 0, output: /The frozen leader/ }],
  [/^npm run sim /, { code: 0, output: /seeds 1\+20: .* 0 breaches/ }],
  [/\/v1\/leadership$/, { code: 0, output: /"leading":true/ }],
  [/\/v1\/drained$/, { code: 0, output: /"generation":\d/ }],
  [/\/v1\/events$/, { code: 0, output: /^event: /m, stopAt: /^event: /m }],
  [/\/v1\/claims\/acquire$/, { code: 0, output: /"granted":true/ }],
  [/ migrate --store postgres:/, { code: 0, output: /applied 0001_lease/ }],
  [/ run --store postgres:/, { code: 0, output: /elected/, stopAt: /elected/ }],
  [/^tenure status$/, { code: 0, output: /generation/ }],
  [/^tenure drain( --timeout 20s)? && /, { code: 0, output: /the rest of the line was run/ }],
  [
    /^sed '.*' deploy\/prometheus\/tenure-rules\.yaml$/,
    { code: 0, output: /runbook_url: https:\/\/wiki\.internal\// },
  ],
  [/^tenure wait --leader --timeout 0 && /, { code: 0, output: /the rest of the line was run/ }],
]

const commands = documentedCommands()
const folder = tempFolder()
const database = await testDatabase()
after(async () => {
  folder.remove()
  await database.dispose()
})

// What people have on their path, or put there; and their own programs.
const main = `"${process.execPath}" "${join(process.cwd(), 'src/cli/main.ts')}" "$@"`
shim('tenure', `exec ${main}`)
shim(
  'npx',
  `shift; case "$1" in dist/tenure.mjs) shift; exec ${main};; esac; exec "${process.execPath}" "$@"`,
)
for (const name of ['sudo', 'stop-my-application', 'nightly-report'])
  shim(name, 'echo the rest of the line was run')

function shim(name: string, script: string): void {
  const path = join(folder.path, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
}

describe('every command in the documentation', () => {
  it('is known here, and run', () => {
    assert.ok(commands.length > 40, `only ${commands.length} were found`)
    const known = [...ELSEWHERE, ...HERE]
    const unknown = commands.filter(({ text }) => !known.some(([pattern]) => pattern.test(text)))
    assert.deepEqual(unknown, [], 'say in this file how they are run')
  })

  it('that another test runs, is run there', () => {
    for (const [pattern, file, shows] of ELSEWHERE) {
      assert.ok(existsSync(file) && shows.test(readFileSync(file, 'utf8')), `${file} for ${pattern}`)
    }
  })

  let places = 0
  const pages = new Map(commands.map(({ page, text }) => [text, page]))
  for (const [text, page] of pages) {
    const proof = ELSEWHERE.some(([pattern]) => pattern.test(text))
      ? undefined
      : HERE.find(([pattern]) => pattern.test(text))?.[1]
    if (proof === undefined) continue
    it(`does what ${page} says: ${text}`, async () => {
      const sidecar = new SidecarProcess('web-1', ['--store', freshStore(`sidecar-${places++}`), '--claims'])
      try {
        await sidecar.listening()
        const { generation } = await sidecar.leads()
        const { code, output } = await run(adapted(text, sidecar.port, generation ?? 0), sidecar.port, proof)
        assert.match(output, proof.output)
        assert.equal(code, proof.code, output)
      } finally {
        await sidecar.end()
      }
    })
  }
})

function freshStore(name: string): string {
  return `sqlite:${join(folder.path, name)}.db`
}

/** The same command, on what this test has: its port, its database, its generation; and fewer worlds. */
function adapted(text: string, port: number, generation: number): string {
  const listen = `--listen 127.0.0.1:0 --store ${freshStore(`started-${port}`)}`
  return text
    .replace('npm ci && ', '')
    .replace(/^npm start$/, `npm start -- ${listen}`)
    .replace(
      /postgres:\/\/\w+@db\.internal\/app( --election)?/,
      (_, more = '') => `'${database.url}' ${more && `--listen 127.0.0.1:0 ${more}`}`,
    )
    .replace('--seeds 10000', '--seeds 20')
    .replace('"generation": 7', `"generation": ${generation}`)
    .replaceAll(':4040', `:${port}`)
}

async function run(command: string, port: number, { stopAt }: Proof) {
  const env = cleanEnvironment({
    PATH: [folder.path, process.env.PATH].join(delimiter),
    ...(command.includes('--listen') ? {} : { TENURE_LISTEN: `127.0.0.1:${port}` }),
  })
  const child = spawn('sh', ['-c', command], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let stopped = false
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
      if (stopped || stopAt === undefined || !stopAt.test(output)) return
      stopped = true
      process.kill(-(child.pid ?? 0), 'SIGTERM')
    })
  }
  const [code] = await once(child, 'close')
  // Stopped by the signal, or orderly because of it: both are what was asked for.
  return { code: stopped ? 0 : (code as number | null), output }
}
