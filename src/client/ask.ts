/** One question to the sidecar, bounded in time and in size. Whatever goes wrong is a value. */
import type { Instant } from '../clock/clock.ts'
import type { Settings } from './options.ts'
import { onAbort } from './waiting.ts'

/** An answer has a few hundred bytes; more than this is not one. */
const ANSWER_MOST_BYTES = 64 * 1024

export interface Question {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON with POST; without it the question is a GET. */
  readonly body?: unknown
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Why there is no answer: `timeout` none in time, `unreachable` nobody there or a connection that broke. */
export type Silence = 'timeout' | 'unreachable'

export type Reply =
  | {
      readonly answered: true
      readonly status: number
      /** Undefined for what is not JSON. */
      readonly body: unknown
      /** Read just before the question left: what an answer promises counts from here. */
      readonly sentAt: Instant
    }
  | { readonly answered: false; readonly reason: Silence; readonly message: string }

/** Never rejects. An aborted question is `unreachable`; the caller knows that it aborted. */
export async function ask(settings: Settings, question: Question): Promise<Reply> {
  const { clock, origin } = settings
  const { timeoutMs } = question
  const url = `${origin}${question.path}${queryOf(question.query)}`
  const controller = new AbortController()
  let timedOut = false
  const cancel = clock.after(timeoutMs, () => {
    timedOut = true
    controller.abort()
  })
  const forget = onAbort(question.signal, () => controller.abort())
  try {
    const sentAt = clock.now()
    const response = await fetch(url, { ...how(question), redirect: 'manual', signal: controller.signal })
    return { answered: true, status: response.status, body: parse(await readText(response)), sentAt }
  } catch (error) {
    if (timedOut) {
      const message = `the sidecar on ${origin} gave no answer within ${Math.ceil(timeoutMs)} ms: look whether it still turns`
      return { answered: false, reason: 'timeout', message }
    }
    const message = `no sidecar answers on ${origin} (${causeOf(error)}): start one with "tenure run", or give its address as url`
    return { answered: false, reason: 'unreachable', message }
  } finally {
    cancel()
    forget()
  }
}

function queryOf(query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? '' : `?${text}`
}

function how({ body }: Question): RequestInit {
  if (body === undefined) return {}
  // The header tells a call that was meant from one that somebody was tricked into.
  const headers = { 'content-type': 'application/json', 'tenure-request': '1' }
  return { method: 'POST', headers, body: JSON.stringify(body) }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    // Not JSON, then; leaving the loop ends the connection.
    if (bytes > ANSWER_MOST_BYTES) return ''
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** fetch itself only says that it failed. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof Error)) return String(cause)
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}
