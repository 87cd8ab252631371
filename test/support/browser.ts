/** A real Chromium, for the status page. */
import { accessSync, constants } from 'node:fs'
import type { TestContext } from 'node:test'
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { until } from './sidecar.ts'
import { tempFolder } from './temp.ts'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const START_MOST_MS = 60_000

/** Where a browser is; null if none is installed. */
export function findChromium(): string | null {
  const isProgram = (path: string): boolean => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  }
  return PATHS.find(isProgram) ?? null
}

const missing = findChromium() === null ? 'CHROMIUM IS NOT INSTALLED: install the package chromium' : null

/** For `skip`: false where there is a browser. In CI there has to be one. */
export const NO_BROWSER: string | false = missing ?? false
if (missing !== null && process.env.CI === 'true') throw new Error(missing)

export interface Window {
  readonly page: Page
  readonly context: BrowserContext
  /** What the browser complained of: errors of the script, and what the policy refused. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

/** Opens a window of a fresh browser, which knows nothing from an earlier one. */
export async function openWindow(options: BrowserContextOptions = {}): Promise<Window> {
  const executablePath = findChromium()
  if (executablePath === null) throw new Error(missing ?? '')
  const profile = tempFolder()
  const context = await chromium.launchPersistentContext(profile.path, {
    executablePath,
    args: FLAGS,
    headless: true,
    timeout: START_MOST_MS,
    ...options,
  })
  const complaints: string[] = []
  await context.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    console.error('policy: ' + event.violatedDirective + ' refused ' + event.blockedURI)
  })`)
  const page = context.pages()[0] ?? (await context.newPage())
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  const close = async (): Promise<void> => {
    await context.close()
    profile.remove()
  }
  return { page, context, complaints, close }
}

/** As `openWindow`, closed with the test. */
export async function windowFor(t: TestContext, options: BrowserContextOptions = {}): Promise<Window> {
  const window = await openWindow(options)
  t.after(() => window.close())
  return window
}

/**
 * Waits until an expression holds in the page. Playwright's own way would evaluate it later from within the page,
 * and that the policy of the page refuses.
 */
export async function holds(page: Page, expression: string): Promise<void> {
  await until(expression, async () => ((await page.evaluate(expression)) ? true : null))
}

/** The text of the element with this id. */
export async function textOf(page: Page, id: string): Promise<string> {
  return (await page.textContent(`#${id}`)) ?? ''
}

/** Opens the status page of a sidecar, and waits for its first report. */
export async function openPage(page: Page, { port }: { port: number }, path = '/'): Promise<void> {
  await page.goto(`http://127.0.0.1:${port}${path}`)
  await holds(page, "document.getElementById('line').textContent === 'live'")
}
