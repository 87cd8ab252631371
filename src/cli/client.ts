import type { Clock } from '../clock/clock.ts'
import { messageOf } from '../config/text-file.ts'
import { CommandError, EXIT } from './exit.ts'

/** A sidecar on the same host answers in milliseconds. */
export const ANSWER_WITHIN_MS = 5_000

/** The sidecar does not answer, or not now: this may pass by itself. */
export class NotNowError extends CommandError {
  /** It was there and said nothing in time: it may be frozen, and hold what it held. */
  readonly timedOut: boolean

  constructor(message: string, options?: ErrorOptions & { readonly timedOut?: boolean }) {
    super(EXIT.fault, message, options)
    this.name = 'NotNowError'
    this.timedOut = options?.timedOut ?? false
  }
}

function unreachable(url: string, cause: unknown, timedOut: boolean): NotNowError {
  // fetch itself only says that it failed.
  const why = messageOf(cause instanceof Error && cause.cause !== undefined ? cause.cause : cause)
  return new NotNowError(
    `no sidecar answers on ${new URL(url).origin} (${why}): start one with "tenure run", or name its address with --listen`,
    { cause, timedOut },
  )
}

export interface Call {
  /** Sent as JSON with POST; without it the call is a GET. */
  readonly body?: unknown
  readonly timeoutMs?: number
}

export interface Reply {
  readonly status: number
  readonly body: unknown
}

/** Asks, and returns what came, whatever its status. Throws `NotNowError`. */
export async function request(url: string, clock: Clock, call: Call = {}): Promise<Reply> {
  const timeoutMs = call.timeoutMs ?? ANSWER_WITHIN_MS
  const controller = new AbortController()
  const cancel = clock.after(timeoutMs, () => controller.abort(new Error(`no answer within ${timeoutMs} ms`)))
  try {
    const response = await fetch(url, { ...how(call), redirect: 'error', signal: controller.signal })
    return { status: response.status, body: parseJson(await response.text()) }
  } catch (error) {
    throw unreachable(url, error, controller.signal.aborted)
  } finally {
    cancel()
  }
}

function how({ body }: Call): RequestInit {
  if (body === undefined) return {}
  // The header tells a call that was meant from one that a web page or a proxy was tricked into.
  const headers = { 'content-type': 'application/json', 'tenure-request': '1' }
  return { method: 'POST', headers, body: JSON.stringify(body) }
}

/** Null for what is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** As `request`; an answer other than 200 is thrown with what the sidecar said about it. */
export async function ask(url: string, clock: Clock, call: Call = {}): Promise<unknown> {
  const { status, body } = await request(url, clock, call)
  if (status === 200) return body
  const said =
    problemMessage(body) ?? `${new URL(url).origin} answered ${status}, which is not how a sidecar answers`
  throw status >= 500 ? new NotNowError(said) : new CommandError(exitOfStatus(status), said)
}

function exitOfStatus(status: number): number {
  if (status === 409) return EXIT.notLeading
  return status === 400 || status === 404 ? EXIT.usage : EXIT.fault
}

function problemMessage(body: unknown): string | null {
  const message = isRecord(body) && isRecord(body.error) ? body.error.message : null
  // What the URL says with a query, the command line says with a flag.
  return typeof message === 'string' ? message.replace('?election=', '--election ') : null
}

/** An object whose fields are yet to be looked at. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What answered on the port is something else. */
export function notASidecar(url: string): CommandError {
  return new CommandError(
    EXIT.fault,
    `what answers on ${new URL(url).origin} is not a Tenure sidecar: name the address of one with --listen`,
  )
}
