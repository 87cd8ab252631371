// The application: asks the sidecar before it acts, and shows its tenure with every write.
import { setTimeout as sleep } from 'node:timers/promises'

const { SIDECAR, WRITES_TO } = process.env
const EVERY_MS = 1_000
const ANSWER_WITHIN_MS = 1_000

const { write } = await import(`./${WRITES_TO}.mjs`)
let ending = false
process.once('SIGTERM', () => {
  ending = true
})

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** No answer means no. `actUntilMs` counts from before the question. */
async function ask() {
  const sentAtMs = performance.now()
  try {
    const response = await fetch(`${SIDECAR}/v1/leadership`, {
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const answer = await response.json()
    return { ...answer, actUntilMs: sentAtMs + (answer.validForMs ?? 0) }
  } catch (error) {
    return { leading: false, draining: null, error: error.message }
  }
}

async function act({ election, generation, session, actUntilMs }) {
  if (performance.now() >= actUntilMs) return
  try {
    say({ generation, ...(await write({ election, generation, session })) })
  } catch (error) {
    say({ generation, error: error.message })
  }
}

/** Nothing is under way here, since one step follows another: so the lease may go now. */
async function sayDrained(generation) {
  const headers = { 'tenure-request': '1', 'content-type': 'application/json' }
  const body = JSON.stringify({ generation })
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  await fetch(`${SIDECAR}/v1/drained`, { method: 'POST', headers, body, signal }).catch((error) =>
    say({ error: error.message }),
  )
}

while (!ending) {
  const answer = await ask()
  if (answer.leading) await act(answer)
  else if (answer.draining) await sayDrained(answer.draining.generation)
  await sleep(EVERY_MS)
}
const { generation, draining } = await ask()
const held = generation ?? draining?.generation ?? null
if (held !== null) await sayDrained(held)
