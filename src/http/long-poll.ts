/** `GET /v1/leadership?after=REVISION&wait=30s`: returns when there is something new to know. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock/clock.ts'
import { parseDuration } from '../config/duration.ts'
import type { Status } from '../election/status.ts'
import type { ElectionHandle } from './elections.ts'
import { type Feed, isGone, type Seats, whenGone } from './feed.ts'
import { leadershipNews } from './leadership.ts'
import { Problem } from './problem.ts'
import { type HttpLog, sendError, sendJson } from './reply.ts'

export const LONG_POLLS_MOST = 256
const WAIT_DEFAULT_MS = 30_000
/** A longer `wait` is cut to this: between two answers an application should see that the sidecar is alive. */
export const WAIT_MOST_MS = 60_000

/** What a long poll needs to know. */
export interface Poll {
  readonly election: ElectionHandle
  readonly feed: Feed
  readonly seats: Seats
  readonly clock: Clock
  readonly log: HttpLog
}

/** Reads `wait`: in milliseconds, cut to the longest. */
export function readWaitMs(text: string | undefined): number {
  if (text === undefined) return WAIT_DEFAULT_MS
  const parsed = parseDuration(text)
  if (parsed.ok) return Math.min(parsed.value, WAIT_MOST_MS)
  throw new Problem(400, 'bad_duration', `wait ${JSON.stringify(text)}: ${parsed.rule}; ${parsed.remedy}`)
}

/** Answers at once when the caller does not know the present revision, else at the next one or when time is up. */
export function answerWhenNew(
  poll: Poll,
  after: string,
  waitMs: number,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (isGone(request, response)) return
  const status = poll.election.status()
  if (status.revision !== after || waitMs === 0) sendJson(response, 200, leadershipNews(status))
  else wait(poll, waitMs, response)
}

function wait({ election, feed, seats, clock, log }: Poll, waitMs: number, response: ServerResponse): void {
  const giveBack = seats.take(election.name)
  const leave = (): void => {
    cancel()
    remove()
    forget()
    giveBack()
  }
  const finish = (status: () => Status): void => {
    leave()
    try {
      sendJson(response, 200, leadershipNews(status()))
    } catch (error) {
      sendError(response, error, log)
    }
  }
  const finishNow = (): void => finish(() => election.status())
  const cancel = clock.after(waitMs, finishNow)
  const remove = feed.add({
    tell: (_transition, status) => finish(() => status),
    end: () => {
      response.shouldKeepAlive = false
      finishNow()
    },
  })
  const forget = whenGone(response, leave)
}
