/**
 * `node scripts/status-page-picture.ts` takes the pictures of docs/status-page.md: two real sidecars hand the
 * leadership over, and a real Chromium looks on. To be run when the page looks different.
 */
import { rmSync } from 'node:fs'
import type { BrowserContextOptions } from 'playwright-core'
import { holds, openPage, openWindow } from '../test/support/browser.ts'
import { SidecarProcess } from '../test/support/sidecar.ts'

const FOLDER = 'docs/images'
const SCALE = 1.5
/** Seen in the pictures. */
const STORE_FOLDER = '/tmp/tenure'

const PICTURES: Readonly<Record<string, BrowserContextOptions>> = {
  'status-page.png': { viewport: { width: 820, height: 980 }, colorScheme: 'light' },
  'status-page-dark.png': { viewport: { width: 400, height: 800 }, colorScheme: 'dark' },
}

async function take(name: string, options: BrowserContextOptions, sidecar: SidecarProcess): Promise<void> {
  const { page, close } = await openWindow({ ...options, deviceScaleFactor: SCALE })
  try {
    await openPage(page, sidecar)
    await holds(page, "document.querySelectorAll('#past li').length > 3")
    await page.screenshot({ path: `${FOLDER}/${name}` })
    process.stdout.write(`${FOLDER}/${name}\n`)
  } finally {
    await close()
  }
}

async function handOver(leader: SidecarProcess, next: SidecarProcess): Promise<void> {
  await leader.post('/v1/resign', { holdOff: '1s' })
  await next.leads()
}

const flags = ['--store', `sqlite:${STORE_FOLDER}/tenure.db`, '--election', 'fleet-manager']
const started: SidecarProcess[] = []

async function start(identity: string): Promise<SidecarProcess> {
  const one = new SidecarProcess(identity, flags)
  started.push(one)
  return one.listening()
}

try {
  rmSync(STORE_FOLDER, { recursive: true, force: true })
  const one = await start('web-1')
  await one.leads()
  const two = await start('web-2')
  await handOver(one, two)
  await handOver(two, one)
  await handOver(one, two)
  for (const [name, options] of Object.entries(PICTURES)) await take(name, options, one)
} finally {
  await Promise.all(started.map((one) => one.end()))
  rmSync(STORE_FOLDER, { recursive: true, force: true })
}
