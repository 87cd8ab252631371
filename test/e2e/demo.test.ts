/** The story of the frozen leader: told to its end, the same each time, and not at all where it is not true. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tenure } from '../support/command.ts'
import { cleanEnvironment, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const source = join(root, 'src/cli/main.ts')
const STORY_MOST_MS = 20_000
/** Slow enough for a signal to come while a stands still, which lasts for six lines. */
const PAUSE = '500ms'

const folder = tempFolder()
const bundle = join(folder.path, 'tenure.mjs')
before(() => run(process.execPath, ['scripts/build.ts', bundle], { cwd: root }))
after(() => folder.remove())

for (const [name, program] of [
  ['the source', source],
  ['the bundle', bundle],
] as const) {
  test(`from ${name} the demo ends well in time, says the same each time, and leaves nothing`, async () => {
    const temporary = tempFolder()
    const tell = (): Promise<{ stdout: string; stderr: string }> =>
      run(process.execPath, [program, 'demo'], {
        env: cleanEnvironment({ TMPDIR: temporary.path }),
        timeout: STORY_MOST_MS,
      })
    const first = await tell()
    assert.equal(first.stderr, '')
    assert.match(
      first.stdout,
      /a {6}asks for the lease: granted, generation 1, .*\n {2}b .* refused, a leads/,
    )
    assert.match(first.stdout, /\{"size":3,"set_by":"a"\} {2}b's decision is gone/)
    assert.match(first.stdout, /"reason":"stale","current":\{"generation":2,"holder":"b"\}/)
    assert.match(first.stdout, /refused, b leads under generation 2, .*\n\n.*\n.*docs\/fencing\.md.*\n$/)
    assert.ok(!first.stdout.includes('\x1b'), 'there is no colour outside of a terminal')
    assert.deepEqual(await tell(), first)
    assert.deepEqual(readdirSync(temporary.path), [])
    temporary.remove()
  })
}

test('what the demo does not take is refused', async () => {
  for (const [argv, message] of [
    [['demo', '--frob'], /flag --frob: there is no such flag/],
    [['demo', '--ttl', '5s'], /"tenure demo" does not take this flag/],
    [['demo', 'a'], /takes no such argument/],
    [['demo', '--pause', '5'], /flag --pause "5": a number without a unit/],
  ] as const) {
    const { code, stdout, stderr } = await tenure(argv)
    assert.equal(code, 2, argv.join(' '))
    assert.match(stderr, message)
    assert.equal(stdout, '')
  }
  const { code, stderr } = await tenure(['demo'], { TENURE_DEMO_ACTOR: 'a' })
  assert.equal(code, 2)
  assert.match(stderr, /TENURE_DEMO_ACTOR .* unset it/)
})

const NO_PROC = process.platform === 'linux' ? false : 'there is no /proc here'

describe('a demo that is ended while its leader stands still', { skip: NO_PROC, concurrency: true }, () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGKILL', null],
  ] as const) {
    test(`by ${signal}: nothing outlives it`, async () => {
      const demo = new FrozenDemo()
      const actors = await demo.frozen()
      demo.child.kill(signal)
      assert.equal(await demo.exited(), code)
      await until('the actors have gone', () => (actors.some(isThere) ? null : true))
      await until('the folder has gone', () => (demo.leftovers().length > 0 ? null : true))
      demo.temporary.remove()
    })
  }

  test('by the death of an actor: it says so, and exits with 1', async () => {
    const demo = new FrozenDemo()
    const actors = await demo.frozen()
    for (const pid of actors) process.kill(pid, 'SIGKILL')
    assert.equal(await demo.exited(), 1)
    assert.match(demo.stderr, /^tenure: the process of [ab] ended too soon \(SIGKILL\)\n$/)
    assert.deepEqual(demo.leftovers(), [])
    demo.temporary.remove()
  })
})

/** A demo that goes slowly, with a folder of its own for its folder. */
class FrozenDemo {
  readonly temporary = tempFolder()
  readonly child: ChildProcess
  readonly #exit: Promise<unknown[]>
  #stdout = ''
  stderr = ''

  constructor() {
    this.child = spawn(process.execPath, [source, 'demo', '--pause', PAUSE], {
      env: cleanEnvironment({ TMPDIR: this.temporary.path }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exit = once(this.child, 'exit')
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdout += chunk
    })
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk
    })
  }

  /** Resolves with its two actors, as soon as one of them stands still. */
  async frozen(): Promise<readonly number[]> {
    await until('a is stopped', () => (this.#stdout.includes('is stopped (SIGSTOP)') ? true : null))
    const actors = childrenOf(this.child.pid ?? 0)
    assert.equal(actors.length, 2)
    assert.deepEqual(actors.map((pid) => stat(pid).state === 'T').toSorted(), [false, true])
    return actors
  }

  async exited(): Promise<unknown> {
    return (await this.#exit)[0]
  }

  leftovers(): readonly string[] {
    return readdirSync(this.temporary.path)
  }
}

function stat(pid: number): { readonly state: string; readonly parent: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { state, parent: Number(parent) }
}

function isThere(pid: number): boolean {
  try {
    // One that has ended stays listed until somebody asks how.
    return stat(pid).state !== 'Z'
  } catch {
    return false
  }
}

function childrenOf(parent: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      return stat(pid).parent === parent
    } catch {
      return false
    }
  })
}
