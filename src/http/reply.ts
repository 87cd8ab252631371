import type { ServerResponse } from 'node:http'
import { faultProblem, Problem } from './problem.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Where faults are told. A pino logger fits. */
export interface HttpLog {
  error(fields: object, message: string): void
}

/** Sends a whole answer. To HEAD, Node leaves the body away and keeps its length. */
export function send(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const all: (string | number)[] = ['Content-Type', type, 'Cache-Control', 'no-store']
  for (const [name, value] of Object.entries(headers)) all.push(name, value)
  all.push('Content-Length', Buffer.byteLength(text))
  response.writeHead(status, all)
  response.end(text)
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, JSON_TYPE, JSON.stringify(body))
}

/** Answers with what went wrong. Whatever is no `Problem` is a defect of ours: it is logged, and answered 500. */
export function sendError(response: ServerResponse, error: unknown, log: HttpLog): void {
  const problem = error instanceof Problem ? error : faultProblem(error)
  if (problem !== error) log.error({ err: error }, 'an HTTP answer could not be computed')
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = { error: { code: problem.code, message: problem.message }, ...problem.extra }
  send(response, problem.status, JSON_TYPE, JSON.stringify(body), problem.headers)
}
