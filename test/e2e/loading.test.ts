/** Nobody pays for what they do not use: each store's client is loaded with its store alone. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { cleanEnvironment } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Writes every module that is loaded to standard error. */
const TELL = `import { registerHooks } from 'node:module'
registerHooks({ load: (url, context, next) => (process._rawDebug('loaded ' + url), next(url, context)) })
`

/** The modules that a sidecar on this store has loaded by the time that it listens. */
async function loadedWith(store: string): Promise<string> {
  const folder = tempFolder()
  const tell = join(folder.path, 'tell.mjs')
  writeFileSync(tell, TELL)
  const flags = [
    'run',
    '--store',
    store.replace('FOLDER', folder.path),
    '--listen',
    '127.0.0.1:0',
    '--log-format',
    'json',
  ]
  const child = spawn(process.execPath, ['--import', pathToFileURL(tell).href, MAIN, ...flags], {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let loaded = ''
  child.stderr.on('data', (chunk: Buffer) => {
    loaded += chunk
  })
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      if (JSON.parse(line).event === 'listening') return loaded
    }
    return assert.fail(`it ended before it listened: ${loaded.slice(-500)}`)
  } finally {
    child.kill('SIGKILL')
    folder.remove()
  }
}

test('a sidecar on SQLite loads neither the PostgreSQL nor the Kubernetes client', async () => {
  const loaded = await loadedWith('sqlite:FOLDER/lease.db')
  assert.match(loaded, /stores\/sqlite\/store\.ts/)
  assert.doesNotMatch(loaded, /node_modules\/(pg|@kubernetes)\/|stores\/(postgres|kubernetes)\//)
})

test('a sidecar on PostgreSQL does not load the Kubernetes client', async () => {
  const loaded = await loadedWith('postgres://nobody@127.0.0.1:1/none')
  assert.match(loaded, /node_modules\/pg\//)
  assert.doesNotMatch(loaded, /node_modules\/@kubernetes\/|stores\/(sqlite|kubernetes)\//)
})
