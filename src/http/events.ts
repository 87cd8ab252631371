/** `GET /v1/events`: the present state, then each transition in order, as server-sent events. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cancel, Clock } from '../clock/clock.ts'
import type { Status, Transition } from '../election/status.ts'
import type { ElectionHandle } from './elections.ts'
import { type Feed, isGone, type Reader, type Seats, whenGone } from './feed.ts'
import { leadershipHint } from './leadership.ts'

export const EVENT_READERS_MOST = 64
export const HEARTBEAT_EVERY_MS = 15_000
/** A reader that leaves more than this unread is dropped: a hundred events, beyond what the kernel holds. */
export const EVENT_BACKLOG_MOST_BYTES = 64 * 1024
/** What a browser waits before it connects again. */
const RETRY_MS = 1_000
const EVENTS_TYPE = 'text/event-stream; charset=utf-8'

export const EVENTS_HEADERS = { 'Content-Type': EVENTS_TYPE, 'Cache-Control': 'no-store' }

/** What an event carries: the state after the transition, and the transition; none in the first event. */
function eventBody(transition: Transition | null, status: Status) {
  return {
    ...leadershipHint(status),
    transition: transition && {
      from: transition.from,
      to: transition.to,
      reason: transition.reason,
      generation: transition.generation,
    },
  }
}

function frame(transition: Transition | null, status: Status): string {
  const revision = transition?.revision ?? status.revision
  return `id: ${revision}\nevent: leadership\ndata: ${JSON.stringify(eventBody(transition, status))}\n\n`
}

/** One open stream. */
class EventReader implements Reader {
  readonly #response: ServerResponse
  readonly #clock: Clock
  #cancelHeartbeat: Cancel = () => undefined

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
  }

  begin(status: string): void {
    this.#response.writeHead(200, EVENTS_HEADERS)
    this.#write(`retry: ${RETRY_MS}\n${status}`)
    this.#armHeartbeat()
  }

  tell(transition: Transition, status: Status): void {
    this.#write(frame(transition, status))
  }

  end(): void {
    this.#response.shouldKeepAlive = false
    this.#response.end()
  }

  left(): void {
    this.#cancelHeartbeat()
  }

  #armHeartbeat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_EVERY_MS, () => {
      this.#write(': heartbeat\n\n')
      if (!this.#response.destroyed) this.#armHeartbeat()
    })
  }

  /** Never waits: what a reader does not take is held for it up to the limit, and then the reader is dropped. */
  #write(text: string): void {
    if (this.#response.destroyed) return
    this.#response.write(text)
    if (this.#response.writableLength > EVENT_BACKLOG_MOST_BYTES) this.#response.destroy()
  }
}

/** What a stream needs to know. */
export interface Stream {
  readonly election: ElectionHandle
  readonly feed: Feed
  readonly seats: Seats
  readonly clock: Clock
}

/** Opens a stream and keeps it until the reader is gone, is dropped, or the server stops. */
export function streamEvents(
  { election, feed, seats, clock }: Stream,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (isGone(request, response)) return
  const first = frame(null, election.status())
  const giveBack = seats.take(election.name)
  const reader = new EventReader(response, clock)
  const remove = feed.add(reader)
  const forget = whenGone(response, () => {
    forget()
    remove()
    reader.left()
    giveBack()
  })
  reader.begin(first)
}
