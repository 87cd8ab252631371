/**
 * Who may make a call that changes something: only a program on this host that meant to.
 *
 * An application can be made to send requests for somebody else (SSRF), and so can a browser (a form, a
 * rebound name). Neither can do all of this: come from the loopback, name it in `Host`, and add a header.
 */
import type { IncomingMessage } from 'node:http'
import { tooLarge } from './body.ts'
import { Problem } from './problem.ts'

/** Any value will do; what counts is that a plain form or a redirected fetch cannot add it. */
export const CALL_HEADER = 'Tenure-Request'

const LOOPBACK_PEER = /^(?:::ffff:)?127(?:\.\d{1,3}){3}$|^::1$/i
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

export function isLoopbackPeer(address: string | undefined): boolean {
  return address !== undefined && LOOPBACK_PEER.test(address)
}

export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && LOOPBACK_HOST.test(host)
}

/** @throws Problem 403 unless the call comes from this host and was meant. */
export function requireLocalCall(request: IncomingMessage): void {
  const peer = request.socket.remoteAddress
  if (!isLoopbackPeer(peer)) {
    throw new Problem(
      403,
      'not_local',
      `the call came from ${peer ?? 'a connection that is gone'}: calls that change something are taken from the loopback only; send it from this host or pod`,
    )
  }
  const { host } = request.headers
  if (!isLoopbackHost(host)) {
    throw new Problem(
      403,
      'foreign_host',
      `Host ${JSON.stringify(host ?? '')}: calls that change something must name localhost, 127.0.0.1 or [::1]; send it to one of these`,
    )
  }
  if (request.headers[CALL_HEADER.toLowerCase()] === undefined) {
    throw new Problem(
      403,
      'header_required',
      `header ${CALL_HEADER} is missing: calls that change something must carry it; send "${CALL_HEADER}: 1"`,
    )
  }
}

/** @throws Problem 413 before a byte of the body is read, where its length is told. */
export function requireSmall(request: IncomingMessage, mostBytes: number): void {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw tooLarge(mostBytes)
}

/** @throws Problem 415 when there is a body that does not say that it is JSON. */
export function requireJson(request: IncomingMessage): void {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = request.headers
  const empty = encoding === undefined && (length === undefined || length === '0')
  if (empty || /^application\/json\s*(?:;|$)/i.test(type ?? '')) return
  throw new Problem(
    415,
    'not_json_type',
    `Content-Type ${JSON.stringify(type ?? '')}: the body of a call is JSON; send "Content-Type: application/json"`,
  )
}
