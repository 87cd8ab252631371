/** The status page in a real browser, before real sidecars: what changes is seen at once, and so is silence. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { holds, NO_BROWSER, openPage, textOf, windowFor } from '../support/browser.ts'
import { sidecar, until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const TTL_MS = 2_000
/** What the page may take to show a handover, from when the sidecar that it asks knows of it. */
const HANDOVER_MOST_MS = 1_000
const SILENCE_MOST_MS = 3_000
const BACK_MOST_MS = 5_000
const SUITE_TIMEOUT_MS = 300_000

const folder = tempFolder()
after(() => folder.remove())
let stores = 0

/** The flags of candidates that contend with each other alone. */
function flags(...more: readonly string[]): readonly string[] {
  return ['--store', `sqlite:${join(folder.path, `${stores++}.db`)}`, '--ttl', `${TTL_MS}ms`, ...more]
}

/** Waits until the page names a leader under a generation, and tells when that was. */
async function shows(page: Page, who: string, generation: number | null): Promise<number> {
  await holds(
    page,
    `document.getElementById('who').textContent === '${who}' &&
     document.getElementById('generation').textContent === '${generation}'`,
  )
  return performance.now()
}

/** A leader, a follower, and a window on the follower. */
async function scene(t: TestContext) {
  const store = flags()
  const first = await sidecar(t, 'web-1', store)
  const { generation } = await first.leads()
  const second = await sidecar(t, 'web-2', store)
  const window = await windowFor(t)
  await openPage(window.page, second)
  await shows(window.page, 'web-1', generation)
  await window.page.evaluate('globalThis.neverReloaded = true')
  return { first, second, ...window }
}

describe('the status page', { skip: NO_BROWSER, timeout: SUITE_TIMEOUT_MS }, () => {
  test('shows a handover within a second, without a reload, and adds it to the timeline', async (t) => {
    const { first, second, page, complaints } = await scene(t)
    await first.post('/v1/resign', { holdOff: '10s' })
    const shown = shows(page, 'web-2', 2)
    await second.leads()
    const knownMs = performance.now()
    const tookMs = (await shown) - knownMs
    assert.ok(tookMs < HANDOVER_MOST_MS, `it took ${tookMs} ms`)
    t.diagnostic(`shown ${Math.round(tookMs)} ms after the sidecar said so`)
    await holds(page, "document.querySelector('#past li b').textContent === 'web-2'")
    assert.match((await page.textContent('#past')) ?? '', /web-2 generation 2.*web-1 generation 1/)
    assert.equal(await textOf(page, 'news'), 'default: web-2 leads, and is this instance, generation 2')
    assert.equal(await page.title(), 'web-2 · default')
    assert.equal(await page.evaluate('globalThis.neverReloaded'), true)
    assert.deepEqual(complaints, [])
  })

  test('shows who follows a leader that was killed, and how long nobody led', async (t) => {
    const { first, second, page } = await scene(t)
    first.kill('SIGKILL')
    const { generation } = await second.leads()
    const knownMs = performance.now()
    const tookMs = (await shows(page, 'web-2', generation)) - knownMs
    assert.ok(tookMs < HANDOVER_MOST_MS, `it took ${tookMs} ms`)
    await page.waitForSelector('#past li.gap')
    assert.match((await page.textContent('#past li.gap')) ?? '', /without a leader/)
  })

  test('says that nobody leads where nobody stands after a leader that was killed', async (t) => {
    const store = flags()
    const leader = await sidecar(t, 'web-1', store)
    const { generation } = await leader.leads()
    const observer = await sidecar(t, 'eye', [...store, '--observer'])
    const { page } = await windowFor(t)
    await openPage(page, observer)
    await shows(page, 'web-1', generation)
    leader.kill('SIGKILL')
    await holds(page, "document.getElementById('who').textContent === 'Nobody'")
    assert.equal(await textOf(page, 'verb'), 'leads now: the lease of web-1 ran out')
    assert.equal(await textOf(page, 'left'), '–')
  })

  test('says so when the sidecar is gone, names nobody then, and goes on when it is back', async (t) => {
    const { second, page } = await scene(t)
    const { port } = second
    second.kill('SIGKILL')
    const killedMs = performance.now()
    await page.waitForSelector('#alarm:not([hidden])')
    const tookMs = performance.now() - killedMs
    assert.ok(tookMs < SILENCE_MOST_MS, `it took ${tookMs} ms`)
    assert.match(await textOf(page, 'alarm'), /does not answer/)
    assert.equal(await textOf(page, 'who'), 'Not known')
    assert.match(await textOf(page, 'verb'), /at the last report: web-1 leads/)
    assert.equal(await page.title(), 'No answer · default')
    await second.exited()
    const again = await sidecar(t, 'web-3', [...flags(), '--listen', `127.0.0.1:${port}`])
    const { generation } = await again.leads()
    const backMs = performance.now()
    const goesOnMs = (await shows(page, 'web-3', generation)) - backMs
    assert.ok(goesOnMs < BACK_MOST_MS, `it took ${goesOnMs} ms`)
    assert.equal(await page.isVisible('#alarm'), false)
  })

  test('says so when the sidecar stands still, though every connection is open', async (t) => {
    const { second, page } = await scene(t)
    await second.freeze()
    const frozenMs = performance.now()
    await page.waitForSelector('#alarm:not([hidden])')
    const tookMs = performance.now() - frozenMs
    assert.ok(tookMs < SILENCE_MOST_MS, `it took ${tookMs} ms`)
    second.thaw()
    await page.waitForSelector('#alarm', { state: 'hidden' })
  })

  test('lets the remaining time run down, and up again with each renewal', async (t) => {
    const { page } = await scene(t)
    const seen: number[] = []
    await until('it ran down and up', async () => {
      const left = Number.parseFloat(await textOf(page, 'left'))
      if (!Number.isNaN(left)) seen.push(left)
      const steps = seen.slice(1).map((next, index) => next - (seen[index] ?? 0))
      return steps.filter((step) => step < 0).length >= 3 && steps.some((step) => step > 0) ? true : null
    })
    assert.ok(Math.max(...seen) <= TTL_MS / 1_000, `${seen}`)
  })

  test('says that the store does not answer, instead of the last name it gave', async (t) => {
    const one = await sidecar(t, 'web-1', ['--store', 'postgres://nobody@127.0.0.1:1/none'])
    const { page } = await windowFor(t)
    await openPage(page, one)
    await holds(page, "document.getElementById('store-health').textContent.startsWith('unavailable')")
    assert.equal(await textOf(page, 'who'), 'Not known')
    assert.match(await textOf(page, 'verb'), /the store does not answer/)
  })

  test('is not the application asking: where polls are required, a page alone keeps nobody leading', async (t) => {
    const one = await sidecar(t, 'web-1', flags('--require-polls', '3s'))
    await one.leads()
    const { page } = await windowFor(t)
    await openPage(page, one)
    await holds(page, "document.getElementById('reason').textContent === 'the application is not well'")
    assert.notEqual(await textOf(page, 'state'), 'leading')
  })

  test('gives its connections back while nobody sees it, and is live again when it is looked at', async (t) => {
    const { second, page } = await scene(t)
    const streams = async (): Promise<string | undefined> =>
      (await second.ask('/metrics'))?.body.match(/tenure_http_subscribers\{.*kind="events".*\} (\d+)/)?.[1]
    const see = (hidden: boolean): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`)
    await until('it listens', async () => ((await streams()) === '1' ? true : null))
    await see(true)
    await until('it has left', async () => ((await streams()) === '0' ? true : null))
    assert.equal(await page.title(), 'Resting · default')
    assert.notEqual(await textOf(page, 'who'), 'web-1')
    await see(false)
    await shows(page, 'web-1', 1)
    await until('it listens again', async () => ((await streams()) === '1' ? true : null))
  })
})
