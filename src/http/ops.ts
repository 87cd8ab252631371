/**
 * `/livez`, `/readyz`, `/metrics`, on plain `node:http`: a probe must not depend on more than it probes, and a
 * sidecar that is only polled never loads the framework.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Sidecar } from './elections.ts'
import { Problem } from './problem.ts'
import { pathOf } from './query.ts'
import { type HttpLog, send, sendError, sendJson } from './reply.ts'
import { allowed, type Path, takes } from './routes.ts'

/** Where the metrics come from. A prom-client registry fits. */
export interface MetricsSource {
  readonly contentType: string
  metrics(): Promise<string>
}

type Answer = (response: ServerResponse) => void | Promise<void>

/** Answers a question of the operations kind, or returns false: it is none. */
export type Ops = (request: IncomingMessage, response: ServerResponse) => boolean

export function opsAnswers(sidecar: Sidecar, registry: MetricsSource, log: HttpLog): Ops {
  // Scrapes that come together share one rendering.
  let rendering: Promise<string> | null = null
  const metrics = (): Promise<string> => {
    rendering ??= registry.metrics().finally(() => {
      rendering = null
    })
    return rendering
  }
  const answers = new Map<string, Answer>([
    ['/livez', (response) => sendHealth(response, sidecar.live())],
    ['/readyz', (response) => sendHealth(response, sidecar.ready())],
    ['/metrics', async (response) => send(response, 200, registry.contentType, await metrics())],
  ])
  return (request, response) => {
    const path = pathOf(request.url ?? '')
    const answer = answers.get(path)
    if (answer === undefined) return false
    respond(request, response, path as Path, answer).catch((error) => sendError(response, error, log))
    return true
  }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  path: Path,
  answer: Answer,
): Promise<void> {
  const { method = '' } = request
  if (!takes(path, method)) throw wrongMethod(path, method)
  await answer(response)
}

function sendHealth(response: ServerResponse, health: { readonly ok: boolean }): void {
  sendJson(response, health.ok ? 200 : 503, health)
}

export function wrongMethod(path: Path, method: string): Problem {
  const methods = allowed(path)
  return new Problem(405, 'method_not_allowed', `${path} does not take ${method}: use ${methods}`, {
    headers: { Allow: methods },
  })
}

/** The answer to a path that is not served here. */
export function unknownPath(path: string, served: readonly string[]): Problem {
  return new Problem(
    404,
    'unknown_path',
    `path ${JSON.stringify(path)} is not served here: ask for one of ${served.join(', ')}`,
  )
}
