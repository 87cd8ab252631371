/** The calls on the claim book. A refusal is 409 and names what is in the way; without a book it is 503. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BlockerViews } from '../claims/blockers.ts'
import type { ClaimDesk, DeskAnswer, DeskRequest, OwnerRequest, Void } from '../claims/desk.ts'
import { DEFAULT_TTL_MS } from '../claims/limits.ts'
import { parseDuration } from '../config/duration.ts'
import {
  ClaimAcquireRequest,
  ClaimPinRequest,
  ClaimReleaseRequest,
  ClaimUnpinRequest,
} from './claims-schemas.ts'
import { isGone, whenGone } from './feed.ts'
import { WAIT_MOST_MS } from './long-poll.ts'
import { Problem } from './problem.ts'
import { sendJson } from './reply.ts'
import type { Path } from './routes.ts'
import { readBody } from './schemas.ts'

const PIN_DEFAULT_MS = 60_000
/** An agent that is gone must not hold a path by a pin for longer than this. */
const PIN_MOST_MS = 600_000

/** A call that has been read. */
export interface ClaimCall {
  readonly desk: ClaimDesk
  /** Aborted when the sidecar stops. */
  readonly ending: AbortSignal
  readonly query: ReadonlyMap<string, string>
  readonly request: IncomingMessage & { readonly body?: unknown }
  readonly response: ServerResponse
}

type Handle = (call: ClaimCall) => void | Promise<void>
export type ClaimPath = Extract<Path, `/v1/claims${string}`>

export const CLAIM_CALLS: Readonly<Record<ClaimPath, Handle>> = {
  '/v1/claims': ({ desk, response }) => sendJson(response, 200, unlessVoid(desk.status())),
  '/v1/claims/covering': covering,
  '/v1/claims/acquire': acquire,
  '/v1/claims/release': release,
  '/v1/claims/pin': pin,
  '/v1/claims/unpin': unpin,
}

async function acquire(call: ClaimCall): Promise<void> {
  const { desk, request, response } = call
  const { paths, ttl, wait, ...who } = readBody(ClaimAcquireRequest, request.body)
  const ttlMs = ttl === undefined ? DEFAULT_TTL_MS : readMs('ttl', ttl, 1)
  const waitMs = wait === undefined ? 0 : Math.min(readMs('wait', wait, 0), WAIT_MOST_MS)
  if (isGone(request, response)) return
  const asked = { ...readAsker(who), paths, ttlMs }
  const answer = waitMs === 0 ? desk.acquire(asked) : await acquireWhileThere(call, asked, waitMs)
  // A newcomer that has gone never learns its token. Whoever showed one still works under it.
  const giveBack = (): void => {
    if ('token' in answer && asked.token === null) desk.release(answer.token, null)
  }
  if (isGone(request, response)) {
    giveBack()
    return
  }
  const granted = unlessRefused(answer)
  whenLost(response, giveBack)
  sendJson(response, 200, granted)
}

/** @throws Problem for a newcomer without a label. */
function readAsker({
  holder,
  token,
}: {
  readonly holder?: string | undefined
  readonly token?: string | undefined
}) {
  if (token !== undefined) return { holder: holder ?? null, token }
  if (holder !== undefined) return { holder, token: null }
  throw new Problem(
    400,
    'holder_required',
    'holder is missing: a request without a token is a newcomer, and needs a label; add "holder"',
  )
}

/**
 * Calls `act` when the connection ends before the answer is written out. The answer to a request that was sent
 * without waiting for the one before stays here until that one is answered.
 */
function whenLost(response: ServerResponse, act: () => void): void {
  response.once('close', () => {
    if (!response.writableFinished) act()
  })
}

async function acquireWhileThere(
  { desk, ending, response }: ClaimCall,
  asked: DeskRequest | OwnerRequest,
  waitMs: number,
): Promise<DeskAnswer> {
  const left = new AbortController()
  const forget = whenGone(response, () => left.abort())
  try {
    return await desk.acquireWithin(asked, waitMs, AbortSignal.any([left.signal, ending]))
  } finally {
    forget()
    if (ending.aborted) response.shouldKeepAlive = false
  }
}

function release({ desk, request, response }: ClaimCall): void {
  const { token, paths } = readBody(ClaimReleaseRequest, request.body)
  const answer = unlessVoid(desk.release(token, paths ?? null))
  if ('reason' in answer) throw lost(answer.epoch)
  const { waitsEnded: _, ...released } = answer
  sendJson(response, 200, released)
}

function covering({ desk, query, response }: ClaimCall): void {
  const path = query.get('path')
  if (path === undefined) {
    throw new Problem(
      400,
      'path_required',
      'query parameter path is missing: add ?path=PATH, percent-encoded',
    )
  }
  const [token, holder] = [query.get('token'), query.get('holder')]
  const asker = token === undefined ? (holder === undefined ? {} : { holder }) : { token }
  sendJson(response, 200, unlessVoid(desk.covering(asker, path)))
}

function pin({ desk, request, response }: ClaimCall): void {
  const { token, path, for: bound } = readBody(ClaimPinRequest, request.body)
  const forMs = bound === undefined ? PIN_DEFAULT_MS : readMs('for', bound, 1)
  if (forMs > PIN_MOST_MS) {
    throw new Problem(
      400,
      'bad_duration',
      `for ${JSON.stringify(bound)}: a pin lasts ${PIN_MOST_MS / 60_000}m at most; pin again before it ends`,
    )
  }
  const answer = unlessVoid(desk.pin(token, path, forMs))
  if ('granted' in answer) throw lost(answer.epoch)
  if (answer.pinned) {
    const { pinned: _, ...told } = answer
    sendJson(response, 200, told)
    return
  }
  const { epoch, reason } = answer
  if (reason === 'too_many_pins') throw full(reason, 'pins')
  throw new Problem(
    409,
    reason,
    `path ${JSON.stringify(path)}: the token proves no claim in force on it or above it; acquire one first`,
    { extra: { epoch } },
  )
}

function unpin({ desk, request, response }: ClaimCall): void {
  const answer = unlessVoid(desk.unpin(readBody(ClaimUnpinRequest, request.body).pin))
  const { epoch } = answer
  if (answer.unpinned) {
    sendJson(response, 200, { epoch, ended: answer.ended })
    return
  }
  throw new Problem(
    409,
    'unknown_pin',
    'pin: it has ended, or belongs to an earlier book; nothing was changed, and nothing has to be done',
    { extra: { epoch } },
  )
}

function readMs(name: string, text: string, leastMs: number): number {
  const parsed = parseDuration(text)
  const fault = parsed.ok ? null : `${parsed.rule}; ${parsed.remedy}`
  if (parsed.ok && parsed.value >= leastMs) return parsed.value
  throw new Problem(
    400,
    'bad_duration',
    `${name} ${JSON.stringify(text)}: ${fault ?? 'it must be longer than 0; set a longer one'}`,
  )
}

/** @throws Problem 503 when there is no book. */
function unlessVoid<A extends object>(answer: A | Void): Exclude<A, Void> {
  if ('void' in answer) {
    throw new Problem(503, 'no_book', `there are no claims here now: ${answer.void}`)
  }
  return answer as Exclude<A, Void>
}

/** What to do about each refusal. */
const REMEDIES = {
  conflict: 'choose other paths, or wait with "wait"',
  timeout: 'the wait is over; try again later',
  cycle: 'those in cycle would wait for each other for ever; release something first',
  holding: 'who holds claims may not wait for more; release them first, or ask without "wait"',
  lost: 'the token proves nothing any more; check what was written meanwhile, and acquire without it',
} as const

/** The first thing in the way; the body names more. */
function inTheWay({ conflicts: [held], ahead: [waited] }: BlockerViews): string {
  if (held !== undefined) {
    return `path ${JSON.stringify(held.path)}: ${JSON.stringify(held.holder)} holds ${JSON.stringify(held.heldPath)}; `
  }
  if (waited === undefined) return ''
  return `path ${JSON.stringify(waited.path)}: ${JSON.stringify(waited.holder)} waits for ${JSON.stringify(waited.waitedPath)}; `
}

/** @throws Problem that carries what stands in the way. */
function unlessRefused(answer: DeskAnswer) {
  const told = unlessVoid(answer)
  if (told.granted) return told
  const { reason, ...more } = told
  if (reason === 'bad_path') {
    const [first] = told.badPaths
    const message = `path ${JSON.stringify(first?.path)}: ${first?.rule}; name it in another way`
    throw new Problem(400, reason, message)
  }
  if (reason === 'other_holder') {
    throw new Problem(
      400,
      reason,
      'holder: it is not the label that the token was granted under, and an owner has one label; leave "holder" out',
    )
  }
  if (reason === 'cancelled') {
    throw new Problem(503, 'stopping', 'the wait was ended: the sidecar stops; ask its successor')
  }
  if (reason === 'too_many_claims') throw full(reason, 'claims')
  if (reason === 'too_many_waits') throw full(reason, 'waits')
  const message = `${inTheWay(told)}nothing was granted: ${REMEDIES[reason]}`
  throw new Problem(409, reason, message, { extra: { badPaths: [], cycle: [], ...more } })
}

function lost(epoch: string): Problem {
  return new Problem(409, 'lost', `token: nothing was changed: ${REMEDIES.lost}`, { extra: { epoch } })
}

function full(code: string, what: string): Problem {
  return new Problem(503, code, `there is no room for more ${what}: release some, or come back later`, {
    headers: { 'Retry-After': '1' },
  })
}
