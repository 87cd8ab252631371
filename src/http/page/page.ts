/** The status page. Loaded when a browser first asks for it: no sidecar pays for a page that nobody looks at. */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { ElectionHandle } from '../elections.ts'
import { leadershipHint } from '../leadership.ts'
import { send } from '../reply.ts'
import { layPage } from './html.ts'
import { SCRIPT } from './script.ts'
import { STYLE } from './style.ts'

const HTML_TYPE = 'text/html; charset=utf-8'

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/**
 * Runs our own script and style, known by their hashes, and nothing else; speaks to this sidecar alone. Even our
 * own script may not turn text into markup.
 */
const POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  Vary: 'Accept',
}

/** Answers with the page for `chosen`, which leads to the other elections. It reads reports; nothing is promised. */
export function answerPage(
  elections: readonly ElectionHandle[],
  chosen: ElectionHandle,
  response: ServerResponse,
): void {
  const reports = elections.map((election) => leadershipHint(election.status()))
  send(response, 200, HTML_TYPE, layPage(reports, chosen.name, new Date()), HEADERS)
}
