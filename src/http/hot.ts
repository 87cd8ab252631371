/**
 * The questions that applications and balancers ask many times a second, answered before any framework: `/leader`
 * and the plain `/v1/leadership`. The targets are known in advance, so that one look-up finds the answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ElectionHandle } from './elections.ts'
import { layAnswer } from './leadership.ts'
import { type HttpLog, JSON_TYPE, send, sendError } from './reply.ts'
import { allowed, takes } from './routes.ts'

const LEADER_ALLOW = allowed('/leader')

/** Answers at once, or returns false: not one of these questions. */
export type Hot = (request: IncomingMessage, response: ServerResponse) => boolean

/** Always 200: the body says whether this instance leads. A promise when it does. */
export function answerLeadership(election: ElectionHandle, response: ServerResponse): void {
  const { text } = layAnswer(election.answer())
  send(response, 200, JSON_TYPE, text)
}

/** 200 or 503, for those who read the code only. A 200 is a promise, also without a body. */
export function answerLeader(election: ElectionHandle, method: string, response: ServerResponse): void {
  const { leading, text } = layAnswer(election.answer())
  const status = leading ? 200 : 503
  if (method === 'OPTIONS') send(response, status, JSON_TYPE, '', { Allow: LEADER_ALLOW })
  else send(response, status, JSON_TYPE, text)
}

export function hotAnswers(elections: readonly ElectionHandle[], log: HttpLog): Hot {
  const leaders = targets('/leader', elections)
  const leaderships = targets('/v1/leadership', elections)
  return (request, response) => {
    const { method = '', url = '' } = request
    try {
      const asked = method === 'GET' || method === 'HEAD' ? leaderships.get(url) : undefined
      if (asked !== undefined) {
        answerLeadership(asked, response)
        return true
      }
      const leader = leaders.get(url)
      if (leader === undefined || !takes('/leader', method)) return false
      answerLeader(leader, method, response)
    } catch (error) {
      sendError(response, error, log)
    }
    return true
  }
}

/** Every plain target that asks about one election. Other spellings of the same are left to the framework. */
function targets(path: string, elections: readonly ElectionHandle[]): ReadonlyMap<string, ElectionHandle> {
  const found = new Map<string, ElectionHandle>()
  for (const election of elections)
    found.set(`${path}?election=${encodeURIComponent(election.name)}`, election)
  const [only] = elections
  if (only !== undefined && elections.length === 1) found.set(path, only)
  return found
}
