// The test of the release: of all pods exactly one leads. Asks their metrics, for as long as a handover may take.
import { lookup } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const [port, most, ...hosts] = process.argv.slice(2)
const WITHIN_MS = 60_000
const ANSWER_WITHIN_MS = 2_000

async function leads(address) {
  const host = address.includes(':') ? `[${address}]` : address
  const response = await fetch(`http://${host}:${port}/metrics`, {
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  })
  return /^tenure_is_leader\{.*\} 1$/m.test(await response.text())
}

async function count() {
  const addresses = (await Promise.all(hosts.map((host) => lookup(host, { all: true })))).flat()
  const answers = await Promise.all(addresses.map(({ address }) => leads(address)))
  return { pods: answers.length, leaders: answers.filter(Boolean).length }
}

const giveUpAtMs = performance.now() + WITHIN_MS
for (;;) {
  const found = await count().catch((error) => ({ error: error.message }))
  process.stdout.write(`${JSON.stringify(found)}\n`)
  if (found.leaders > 1) process.exit(1)
  if (found.leaders === 1 && found.pods === Number(most)) break
  if (performance.now() > giveUpAtMs) process.exit(1)
  await sleep(500)
}
