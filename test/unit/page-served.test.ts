/** Who gets the status page at `/`, and with which defences. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { wantsPage } from '../../src/http/page/negotiate.ts'
import { SCRIPT } from '../../src/http/page/script.ts'
import { tempFolder } from '../support/temp.ts'
import { FakeElection, FOLLOWING, LEADING, type Reply, startRig } from './http-fixtures.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8' }
const MARKUP = `<img src=x onerror="alert('&')">`
const root = fileURLToPath(new URL('../..', import.meta.url))

function policy({ headers }: Reply): ReadonlyMap<string, string> {
  const directives = String(headers['content-security-policy']).split('; ')
  return new Map(
    directives.map((text) => {
      const [name = '', ...values] = text.split(' ')
      return [name, values.join(' ')]
    }),
  )
}

function hash(text: string | undefined): string {
  return `'sha256-${createHash('sha256')
    .update(text ?? '')
    .digest('base64')}'`
}

describe('who asks decides what / is', () => {
  const cases: readonly [accept: string | undefined, page: boolean][] = [
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/json', false],
    ['application/json, text/html;q=0.9', false],
    ['application/json, text/html', true],
    ['text/html;q=0', false],
    ['text/html;q=nonsense', false],
    ['text/html', true],
    ['TEXT/HTML; charset=utf-8', true],
    [BROWSER.accept, true],
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', false],
    ['text/html, image/gif, image/jpeg, */*; q=0.2', false],
    ['text/plain', false],
  ]
  for (const [accept, page] of cases) {
    test(`Accept ${JSON.stringify(accept)} gets ${page ? 'the page' : 'the label'}`, () => {
      assert.equal(wantsPage(accept), page)
    })
  }
})

test('a browser gets the page, every other client the label as ever, and caches are told the difference', async (t) => {
  const { ask } = await startRig(t)
  const page = await ask('/', { headers: BROWSER })
  assert.equal(page.status, 200)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  const label = await ask('/', { headers: { accept: 'application/json' } })
  assert.deepEqual(label.json, { name: 'pod-b' })
  for (const { headers } of [page, label]) {
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers.vary, 'Accept')
  }
  const head = await ask('/', { method: 'HEAD', headers: BROWSER })
  assert.equal(head.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(head.text, '')
})

test('to show the page makes no promise', async (t) => {
  const election = new FakeElection('fleet-manager', LEADING)
  const { ask } = await startRig(t, { elections: [election] })
  await ask('/', { headers: BROWSER })
  assert.equal(election.promises, 0)
})

test('the policy allows the script and the style that the page carries, by their hashes, and nothing foreign', async (t) => {
  const { ask } = await startRig(t)
  const page = await ask('/', { headers: BROWSER })
  const scripts = Array.from(
    page.text.matchAll(/<script type="module">(.*?)<\/script>/gs),
    ([, text]) => text,
  )
  const styles = Array.from(page.text.matchAll(/<style>(.*?)<\/style>/gs), ([, text]) => text)
  assert.deepEqual([scripts.length, styles.length], [1, 1])
  const allowed = policy(page)
  assert.deepEqual(Object.fromEntries(allowed), {
    'default-src': "'none'",
    'script-src': hash(scripts[0]),
    'style-src': hash(styles[0]),
    'img-src': 'data:',
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  })
  assert.equal(page.headers['x-content-type-options'], 'nosniff')
  const markup = page.text.replace(/<(script|style)[^>]*>.*?<\/\1>/gs, '')
  assert.doesNotMatch(markup, /\son\w+=|\sstyle=|<script|<iframe|src=/)
  assert.doesNotMatch(markup.replaceAll('http://www.w3.org/2000/svg', ''), /https?:/)
})

test('a foreign Host gets no page, and the label as before', async (t) => {
  const { ask, port } = await startRig(t)
  const foreign = await ask('/', { headers: { ...BROWSER, host: 'evil.example' } })
  assert.equal(foreign.status, 403)
  assert.equal(foreign.json.error.code, 'foreign_host')
  assert.match(foreign.json.error.message, /"evil\.example".*127\.0\.0\.1/)
  for (const host of ['localhost', `127.0.0.1:${port}`, '[::1]:9']) {
    assert.equal((await ask('/', { headers: { ...BROWSER, host } })).status, 200, host)
  }
  assert.equal((await ask('/', { headers: { host: 'evil.example' } })).status, 200)
})

test('with several elections the page shows the first, or the one that is named; a program has to name one', async (t) => {
  const elections = [new FakeElection('a'), new FakeElection('b & c')]
  const { ask } = await startRig(t, { elections })
  const chosen = async (path: string): Promise<string | undefined> =>
    (await ask(path, { headers: BROWSER })).text.match(/<body data-chosen="([^"]*)"/)?.[1]
  assert.equal(await chosen('/'), 'a')
  assert.equal(await chosen('/?election=b%20%26%20c'), 'b &amp; c')
  const { text } = await ask('/', { headers: BROWSER })
  assert.match(text, /href="\?election=b%20%26%20c" data-election="b &amp; c"/)
  assert.equal((await ask('/')).status, 400)
  assert.equal((await ask('/?election=d', { headers: BROWSER })).status, 404)
  assert.equal((await ask('/?colour=blue', { headers: BROWSER })).status, 400)
})

test('labels are text in what is shown without scripts, whatever they look like', async (t) => {
  const current = { holder: MARKUP, generation: 6, expiresInMs: 4_000, observedAgeMs: 12 }
  const store = { ...FOLLOWING.store, error: { kind: 'unavailable', message: MARKUP } } as const
  const election = new FakeElection(MARKUP, { ...FOLLOWING, current, store })
  const { ask } = await startRig(t, { elections: [election] })
  const { text } = await ask('/', { headers: BROWSER })
  const shown = '&lt;img src=x onerror=&quot;alert(&#39;&amp;&#39;)&quot;&gt;'
  assert.ok(!text.includes('<img'))
  assert.ok(text.includes(`<td>${shown}, generation 6</td>`))
  assert.ok(text.includes(`<td>unavailable: ${shown}</td>`))
  assert.ok(text.includes(`<td>${shown}</td>`))
})

test('the summary without scripts says that nobody leads once the lease has run out', async (t) => {
  const expired = { holder: 'pod-b', generation: 6, expiresInMs: 0, observedAgeMs: 9_000 }
  const election = new FakeElection('fleet-manager', { ...FOLLOWING, current: expired })
  const { ask } = await startRig(t, { elections: [election] })
  const { text } = await ask('/', { headers: BROWSER })
  assert.match(text, /<td>nobody: the lease of pod-b ran out<\/td>/)
})

test('a fault of the election is answered as everywhere', async (t) => {
  const { ask, election } = await startRig(t)
  election.fault = new Error('broken')
  assert.equal((await ask('/', { headers: BROWSER })).status, 500)
})

test('the script of the page passes the type checker and the linter', (t) => {
  const folder = tempFolder()
  t.after(() => folder.remove())
  const file = join(folder.path, 'page.js')
  writeFileSync(file, SCRIPT)
  const run = (program: string, ...args: readonly string[]): void => {
    const path = join(root, 'node_modules/.bin', program)
    const { status, stdout, stderr } = spawnSync(path, [...args, file], { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
  const browser = [
    '--lib',
    'es2024,dom,dom.iterable',
    '--target',
    'es2024',
    '--types',
    '',
    '--moduleDetection',
    'force',
  ]
  run('tsc', '--ignoreConfig', '--allowJs', '--checkJs', '--noEmit', '--strict', 'false', ...browser)
  run(
    'biome',
    'lint',
    '--skip=style/useTemplate',
    '--error-on-warnings',
    `--config-path=${join(root, 'biome.json')}`,
  )
})
