/** What the status page makes of each state, in a real browser; the states are set by hand. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import type { Status, TenureRecord } from '../../src/election/status.ts'
import { holds, NO_BROWSER, openPage, textOf, windowFor } from '../support/browser.ts'
import { until } from '../support/sidecar.ts'
import { FakeElection, FOLLOWING, LEADING, startRig } from '../unit/http-fixtures.ts'

const SUITE_TIMEOUT_MS = 300_000
const NARROW_PX = 400
/** WCAG 2, AA, for text of any size. */
const CONTRAST_LEAST = 4.5
const MARKUP = `<img src=x onerror="hacked=1">`
const LONG = 'a-very-long-label-without-a-space-'.repeat(5).slice(0, 160)

const DRAINING: Status = {
  ...LEADING,
  leading: false,
  generation: null,
  session: null,
  state: 'draining',
  reason: 'resigned',
  draining: { generation: 7, leaseRemainingMs: 3_000 },
}
const UNREACHABLE: Status = {
  ...FOLLOWING,
  current: { holder: LONG, generation: Number.MAX_SAFE_INTEGER, expiresInMs: 0, observedAgeMs: 90_000 },
  store: {
    kind: 'postgres',
    location: `postgres://${LONG}/app`,
    lastSuccessAgoMs: 90_000,
    error: { kind: 'unavailable', message: `connection refused by ${LONG}` },
  },
}

function tenure(generation: number, more: Partial<TenureRecord> = {}): TenureRecord {
  const fromMs = Date.UTC(2026, 0, 1) + generation * 60_000
  const past = { fromMs, untilMs: fromMs + 59_000, reason: 'seen', leaderlessMs: null } as const
  return { holder: 'pod-b', generation, ...past, ...more }
}

async function scene(t: TestContext, elections: FakeElection[], options: BrowserContextOptions = {}) {
  const rig = await startRig(t, { elections })
  const window = await windowFor(t, options)
  return { rig, ...window, open: (path?: string) => openPage(window.page, rig, path) }
}

/** The least contrast of any text that is shown, and which text that is. */
const LEAST_CONTRAST = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number)
  const light = (colour) => {
    const [red, green, blue] = channels(colour).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor
    return channels(colour)[3] === 0 ? ground(element.parentElement) : colour
  }
  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement
    if (walker.currentNode.textContent.trim() === '' || !element.checkVisibility() || element.id === 'news') continue
    const [one, other] = [light(getComputedStyle(element).color), light(ground(element))]
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    texts.push({ ratio, text: walker.currentNode.textContent })
  }
  return texts.sort((one, other) => one.ratio - other.ratio)[0]
})()`

describe('the status page', { skip: NO_BROWSER, timeout: SUITE_TIMEOUT_MS }, () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`fits ${NARROW_PX} pixels and can be read, in the ${colorScheme} scheme, in every state`, async (t) => {
      const election = new FakeElection('fleet-manager', LEADING)
      election.records = [tenure(3), tenure(7, { holder: LONG, reason: 'resigned', leaderlessMs: 180 })]
      const other = new FakeElection(LONG.slice(0, 60), UNREACHABLE)
      const viewport = { width: NARROW_PX, height: 800 }
      const reducedMotion = 'reduce'
      const { rig, page, open } = await scene(t, [election, other], { colorScheme, viewport, reducedMotion })
      const check = async (state: string): Promise<void> => {
        const width = await page.evaluate('document.documentElement.scrollWidth')
        assert.ok(Number(width) <= NARROW_PX, `${state}: ${width} px wide`)
        const least = (await page.evaluate(LEAST_CONTRAST)) as { ratio: number; text: string }
        assert.ok(least.ratio >= CONTRAST_LEAST, `${state}: ${least.ratio} for ${least.text}`)
      }
      await open()
      const ground = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
      const dark = Number(ground.match(/\d+/)?.[0]) < 100
      assert.equal(dark, colorScheme === 'dark', ground)
      const states: readonly [verb: string, status: Status][] = [
        ['leads, as the store last showed', FOLLOWING],
        ['leads, and is this instance', LEADING],
        ['drains', DRAINING],
        ['the store does not answer', UNREACHABLE],
      ]
      for (const [verb, status] of states) {
        election.become(status)
        await holds(page, `document.getElementById('verb').textContent.startsWith('${verb}')`)
        await check(verb)
      }
      const stopped = rig.servers.stop()
      rig.clock.advance(10_000)
      await stopped
      await page.waitForSelector('#alarm:not([hidden])')
      await check('gone')
    })
  }

  test('moves nothing while its figures run down', async (t) => {
    const viewport = { width: NARROW_PX, height: 800 }
    const { page, open } = await scene(t, [new FakeElection('fleet-manager', LEADING)], { viewport })
    const figures = async (most: number): Promise<void> => {
      const seen = new Set<string>()
      await until('the figures run down', async () =>
        seen.add(await textOf(page, 'left')).size > most ? true : null,
      )
    }
    await open()
    await figures(1) // the first report is painted
    await page.evaluate(`globalThis.moved = []
      new PerformanceObserver((list) => list.getEntries().forEach(({ sources }) => {
        moved.push(...sources.map(({ node }) => node?.nodeName + ' ' + node?.textContent))
      })).observe({ type: 'layout-shift' })`)
    await figures(8)
    assert.deepEqual(await page.evaluate('moved'), [])
  })

  test('shows every label as the text that it is, and runs nothing of it', async (t) => {
    const current = { holder: MARKUP, generation: 7, expiresInMs: 9_000, observedAgeMs: 1 }
    const store = {
      ...FOLLOWING.store,
      location: MARKUP,
      error: { kind: 'denied', message: MARKUP },
    } as const
    const election = new FakeElection(MARKUP, { ...FOLLOWING, identity: `${MARKUP}2`, current, store })
    election.records = [tenure(7, { holder: MARKUP, untilMs: null, reason: null })]
    const { page, complaints, open } = await scene(t, [election, new FakeElection(`${MARKUP}3`)])
    await open()
    await page.waitForSelector('#past b')
    assert.equal(await textOf(page, 'who'), MARKUP)
    assert.equal(await textOf(page, 'identity'), `${MARKUP}2`)
    assert.equal(await textOf(page, 'store-health'), `denied: ${MARKUP}`)
    assert.equal(await page.textContent('#past b'), MARKUP)
    assert.equal(await page.evaluate("document.querySelectorAll('img').length"), 0)
    assert.equal(await page.evaluate('typeof hacked'), 'undefined')
    assert.deepEqual(complaints, [])
  })

  test('lets nothing foreign run, load or be reached: the policy holds in the browser', async (t) => {
    const { page, complaints, open } = await scene(t, [new FakeElection()])
    await open()
    const attempts = {
      'connect-src': "void fetch('http://127.0.0.1:1/').catch(() => {})",
      'img-src': "document.body.append(Object.assign(document.createElement('img'), { src: '/x.png' }))",
      'style-src-elem':
        "document.head.append(Object.assign(document.createElement('style'), { textContent: '*{color:red}' }))",
      'style-src-attr': "document.body.setAttribute('style', 'color: red')",
      'require-trusted-types-for': "try { document.body.innerHTML = '<b>x</b>' } catch {}",
      'base-uri':
        "document.head.append(Object.assign(document.createElement('base'), { href: '/elsewhere/' }))",
    }
    for (const [directive, attempt] of Object.entries(attempts)) {
      await page.evaluate(`{ ${attempt} }`)
      await until(`${directive} refuses`, () =>
        complaints.some((complaint) => complaint.startsWith(`policy: ${directive} `)) ? true : null,
      )
    }
    assert.notEqual(await page.evaluate('getComputedStyle(document.body).color'), 'rgb(255, 0, 0)')
  })

  test('drops a report that was under way when an event came: it is older than the event', async (t) => {
    const election = new FakeElection('fleet-manager', FOLLOWING)
    const { page, open } = await scene(t, [election])
    await open()
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: caught, resolve: isCaught } = Promise.withResolvers<void>()
    const { promise: delivered, resolve: isDelivered } = Promise.withResolvers<void>()
    await page.route(
      '**/v1/leadership?*',
      async (route) => {
        const response = await route.fetch()
        isCaught()
        await held
        await route.fulfill({ response })
        isDelivered()
      },
      { times: 1 },
    )
    await caught
    await page.evaluate(`globalThis.names = []
      new MutationObserver(() => names.push(document.getElementById('who').textContent))
        .observe(document.getElementById('who'), { subtree: true, childList: true, characterData: true })`)
    election.become(LEADING)
    await holds(page, "document.getElementById('who').textContent === 'pod-a'")
    release()
    await delivered
    await page.waitForResponse('**/v1/leadership?*')
    assert.deepEqual(await page.evaluate('names'), ['pod-a'])
  })

  test('goes on naming a leader whose lease was not looked at since it should have ended', async (t) => {
    const expiresSoon = { holder: 'pod-b', generation: 6, expiresInMs: 300, observedAgeMs: 900 }
    const election = new FakeElection('fleet-manager', { ...FOLLOWING, current: expiresSoon })
    const { page, open } = await scene(t, [election])
    await open()
    await page.evaluate(`globalThis.verbs = new Set([document.getElementById('verb').textContent])
      globalThis.downs = 0
      const watch = (id, act) => new MutationObserver(() => act(document.getElementById(id).textContent))
        .observe(document.getElementById(id), { subtree: true, childList: true, characterData: true })
      watch('verb', (text) => verbs.add(text))
      watch('left', (text) => { if (text === '0.2 s') downs++ })`)
    await holds(page, 'downs > 9')
    assert.deepEqual(await page.evaluate('[...verbs]'), ['leads, as the store last showed'])
    election.now = { ...election.now, current: { ...expiresSoon, expiresInMs: 0, observedAgeMs: 2_000 } }
    await holds(page, "document.getElementById('verb').textContent.startsWith('held the lease')")
    assert.equal(await textOf(page, 'who'), 'pod-b')
    election.now = { ...election.now, current: { ...expiresSoon, expiresInMs: 0, observedAgeMs: 0 } }
    await holds(page, "document.getElementById('who').textContent === 'Nobody'")
    assert.equal(await textOf(page, 'verb'), 'leads now: the lease of pod-b ran out')
  })

  test('does not take our own label at the store for our leadership', async (t) => {
    const election = new FakeElection('fleet-manager', { ...FOLLOWING, current: LEADING.current })
    const { page, open } = await scene(t, [election])
    await open()
    assert.equal(await textOf(page, 'who'), 'pod-a')
    assert.equal(await textOf(page, 'verb'), 'holds the lease, and does not act here')
  })

  test('tells each tenure, what lay between them, and how many more there are', async (t) => {
    const current = { holder: 'pod-a', generation: 27, expiresInMs: 12_000, observedAgeMs: 5 }
    const election = new FakeElection('fleet-manager', { ...LEADING, generation: 27, current })
    const older = Array.from({ length: 22 }, (_, index) => tenure(index + 1))
    const newest = tenure(27, { holder: 'pod-a', leaderlessMs: 180, untilMs: null, reason: null })
    election.records = [...older, tenure(25, { reason: 'resigned' }), newest]
    const { page, open } = await scene(t, [election])
    await open()
    await page.waitForSelector('#past li.gap')
    const items = await page.locator('#past li').allTextContents()
    await holds(page, "document.querySelector('#past li').textContent.includes(' d ')")
    assert.match((await page.textContent('#past li')) ?? '', /^pod-a generation 27from .*, for \d+ d \d+ h$/)
    assert.equal(items[1], '180 ms without a leader · generation 26 was not seen')
    assert.match(items[2] ?? '', /^pod-b generation 25from .*, for 59\.0 s · it was asked to step down$/)
    assert.equal(items[3], '2 generations were not seen')
    assert.equal(await page.locator('#past li:not(.gap)').count(), 20)
    assert.equal(await textOf(page, 'past-note'), 'The newest 20 of 24.')
  })

  test('makes up no end that nobody wrote down, and says when the history cannot be read', async (t) => {
    const expired = { holder: 'pod-b', generation: 6, expiresInMs: 0, observedAgeMs: 0 }
    const election = new FakeElection('fleet-manager', { ...FOLLOWING, current: expired })
    const open6 = tenure(6, { untilMs: null, reason: null })
    election.records = [tenure(5, { holder: null, untilMs: null, reason: 'unknown' }), open6]
    election.historyFault = { kind: 'denied', message: 'no right to read tenure.history' }
    const { page, open } = await scene(t, [election])
    await open()
    await page.waitForSelector('#past li')
    const items = await page.locator('#past li').allTextContents()
    assert.match(items[0] ?? '', /^pod-b generation 6from .*, its end is not written down yet$/)
    assert.match(items[1] ?? '', /^somebody generation 5from .*, nobody said how it ended$/)
    assert.equal(await page.locator('#past li[data-now]').count(), 0)
    assert.match(await textOf(page, 'past-note'), /could not be read \(no right to read tenure\.history\)/)
  })

  test('leads by keyboard from one election to the other, and shows where the focus is', async (t) => {
    const { page, open } = await scene(t, [new FakeElection('one'), new FakeElection('two', LEADING)])
    await open()
    await holds(page, "document.querySelector('[data-election=two] small').textContent === 'pod-a'")
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.dataset.election'), 'two')
    assert.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid')
    const opened = page.waitForURL('**/?election=two')
    await page.keyboard.press('Enter')
    await opened
    await holds(page, "document.getElementById('election').textContent === 'two'")
    await holds(page, "document.getElementById('who').textContent === 'pod-a'")
    assert.equal(await page.getAttribute('[data-election=two]', 'aria-current'), 'page')
  })

  test('without scripts it is a summary of the moment that says so', async (t) => {
    const { rig, page } = await scene(t, [new FakeElection()], { javaScriptEnabled: false })
    await page.goto(`http://127.0.0.1:${rig.port}/`)
    assert.match(
      (await page.textContent('noscript table')) ?? '',
      /without them, load it again.*pod-b, generation 6/s,
    )
    assert.equal(await page.locator('main').isVisible(), false)
  })
})
