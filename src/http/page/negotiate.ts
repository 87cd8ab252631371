/** Who is given the status page at `/`: a browser. Everybody else is given the holder's label, as ever. */
import type { IncomingMessage } from 'node:http'
import { isLoopbackHost } from '../guards.ts'
import { Problem } from '../problem.ts'

interface MediaRange {
  readonly type: string
  readonly weight: number
}

function mediaRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return { type, weight: weight === undefined ? 1 : Number(weight.slice('q='.length)) || 0 }
}

/**
 * Whether an `Accept` header is that of a browser: it names HTML, and JSON no sooner.
 *
 * The HTTP client that comes with Java names HTML by default, and images beside it as no browser of today does.
 * Elector sidecars were asked through it, so it gets what it always got.
 */
export function wantsPage(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map(mediaRange)
  const weightOf = (type: string): number => ranges.find((range) => range.type === type)?.weight ?? 0
  if (weightOf('image/gif') > 0) return false
  return weightOf('text/html') > 0 && weightOf('text/html') >= weightOf('application/json')
}

/**
 * A name on the web that leads to this host must not show the page within its own origin.
 * @throws Problem 403 when `Host` is none of this host's own.
 */
export function requireLocalHost({ headers: { host } }: IncomingMessage): void {
  if (isLoopbackHost(host)) return
  throw new Problem(
    403,
    'foreign_host',
    `Host ${JSON.stringify(host ?? '')}: the status page is shown under localhost, 127.0.0.1 or [::1] only; open it on this host, or through a forwarded port (kubectl port-forward, ssh -L)`,
  )
}
