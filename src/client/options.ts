/** What a client is told once, checked where it is said. */
import type { Clock } from '../clock/clock.ts'
import { sharedClock } from '../clock/system-clock.ts'

const URL_DEFAULT = 'http://127.0.0.1:4040'
/** A sidecar on the same host answers in milliseconds; one that takes half a second is as good as silent. */
const TIMEOUT_DEFAULT_MS = 500
const TIMEOUT_MOST_MS = 60_000
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const NAMES = ['url', 'election', 'timeoutMs', 'clock']

export interface ClientOptions {
  /** Where the sidecar of this instance listens. Default `http://127.0.0.1:4040`. */
  readonly url?: string | undefined
  /** Which election; may be left out where the sidecar runs only one. */
  readonly election?: string | undefined
  /** The longest that one question may take, in milliseconds. Default 500. */
  readonly timeoutMs?: number | undefined
  /** Default: the machine's own clocks. */
  readonly clock?: Clock | undefined
}

export interface Settings {
  /** Without a slash at the end. */
  readonly origin: string
  readonly election: string | null
  readonly timeoutMs: number
  readonly clock: Clock
}

/** @throws TypeError that names the option, the rule and the remedy. */
export function readOptions(options: ClientOptions): Settings {
  for (const name of Object.keys(options)) {
    if (!NAMES.includes(name)) fault(name, 'there is no such option', `give ${NAMES.join(', ')} or none`)
  }
  const origin = readOrigin(options.url ?? URL_DEFAULT)
  const election = readElection(options.election)
  const timeoutMs = readTimeoutMs(options.timeoutMs ?? TIMEOUT_DEFAULT_MS)
  return { origin, election, timeoutMs, clock: options.clock ?? sharedClock() }
}

function fault(input: string, rule: string, remedy: string): never {
  throw new TypeError(`${input}: ${rule}; ${remedy}`)
}

function readOrigin(text: string): string {
  const input = `url ${JSON.stringify(text)}`
  const remedy = `give one like ${JSON.stringify(URL_DEFAULT)}`
  const url = URL.parse(text)
  if (url === null) return fault(input, 'it must be a URL', remedy)
  if (url.protocol !== 'http:') return fault(input, 'a sidecar speaks plain http', remedy)
  // The answer is about the instance beside which the sidecar stands: two hosts that asked one would both lead.
  if (!LOOPBACK_HOST.test(url.hostname)) {
    return fault(input, 'it must name the loopback: each instance asks the sidecar of its own', remedy)
  }
  if (`${url.origin}/` !== url.href) return fault(input, 'it must be host and port alone', remedy)
  return url.origin
}

function readElection(name: string | undefined): string | null {
  if (name === undefined) return null
  if (typeof name === 'string' && name !== '') return name
  const remedy = 'give the name that the sidecar has in --election, or leave it out where there is only one'
  return fault(`election ${JSON.stringify(name)}`, 'it must be a name', remedy)
}

function readTimeoutMs(timeoutMs: number): number {
  if (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMEOUT_MOST_MS) return timeoutMs
  const rule = `it must be a whole number of milliseconds from 1 to ${TIMEOUT_MOST_MS}`
  return fault(`timeoutMs ${JSON.stringify(timeoutMs)}`, rule, `give one like ${TIMEOUT_DEFAULT_MS}`)
}
