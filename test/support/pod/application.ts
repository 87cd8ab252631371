/**
 * The application of a pod: works while its sidecar says that it leads. On SIGTERM it finishes the piece of work that it
 * is at, says `drained` for it, and ends with 0; with STUBBORN it works on until it is killed.
 *
 * It writes down when it works, a line of JSON for each change, on the clock that all processes of a machine share.
 */
const { TENURE_URL = '', FINISH_MS = '0', STUBBORN } = process.env
const ASK_EVERY_MS = 25
const ASK_MOST_MS = 500

let terminated = false
let working: number | null = null

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function note(event: string, generation: number, atMs = now()): void {
  process.stdout.write(`${JSON.stringify({ event, generation, atMs })}\n`)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** The generation under which it may act now; null for none. */
async function ask(): Promise<number | null> {
  try {
    const response = await fetch(`${TENURE_URL}/v1/leadership`, { signal: AbortSignal.timeout(ASK_MOST_MS) })
    return ((await response.json()) as { generation: number | null }).generation
  } catch {
    return null
  }
}

async function drained(generation: number): Promise<void> {
  const headers = { 'content-type': 'application/json', 'tenure-request': '1' }
  const body = JSON.stringify({ generation })
  const sentMs = now()
  const response = await fetch(`${TENURE_URL}/v1/drained`, { method: 'POST', headers, body })
  // Anything else is no fault of the application's: the tenure was over before.
  if (response.status === 200) note('drained', generation, sentMs)
}

process.on('SIGTERM', () => {
  terminated = true
})

while (!terminated || STUBBORN !== undefined) {
  const generation = await ask()
  // What refuses to stop works on whatever it is told.
  const next: number | null = STUBBORN === undefined || generation !== null ? generation : working
  if (next !== working) {
    if (working !== null) note('stopped', working)
    if (next !== null) note('began', next)
    working = next
  }
  await sleep(ASK_EVERY_MS)
}
if (working !== null) {
  await sleep(Number(FINISH_MS))
  note('stopped', working)
  await drained(working)
}
