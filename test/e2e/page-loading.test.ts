/** Nobody pays for a page that nobody looks at. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { sidecar, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

/** Writes every module that is loaded to standard error. */
const TELL = `import { registerHooks } from 'node:module'
registerHooks({ load: (url, context, next) => (process._rawDebug('loaded ' + url), next(url, context)) })
`

test('the page is loaded with the first browser, and by no other question', async (t) => {
  const folder = tempFolder()
  t.after(() => folder.remove())
  const tell = join(folder.path, 'tell.mjs')
  writeFileSync(tell, TELL)
  const environment = { NODE_OPTIONS: `--import=${pathToFileURL(tell).href}` }
  const one = await sidecar(t, 'web-1', ['--store', `sqlite:${join(folder.path, 'lease.db')}`], {
    environment,
  })
  await one.leads()
  for (const path of ['/', '/v1/history', '/openapi.json']) assert.equal((await one.ask(path))?.status, 200)
  assert.match(one.stderr, /loaded .*http\/app\.ts/)
  assert.doesNotMatch(one.stderr, /http\/page\/(page|html|script|style)/)
  const response = await fetch(`http://127.0.0.1:${one.port}/`, { headers: { accept: 'text/html' } })
  assert.match(await response.text(), /^<!doctype html>/)
  await until('it is loaded', () => (/http\/page\/script-live\.ts/.test(one.stderr) ? true : null))
})
