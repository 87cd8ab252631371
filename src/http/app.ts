/** Everything but the hot questions and the probes, through express. Loaded when first asked for. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express from 'express'
import type { ClaimDesk } from '../claims/desk.ts'
import type { Clock } from '../clock/clock.ts'
import { BODY_MOST_BYTES, bodyProblem, CLAIM_BODY_MOST_BYTES } from './body.ts'
import { drained, resign } from './calls.ts'
import type { ClaimPath } from './claims.ts'
import { CLAIM_ROUTES } from './claims-routes.ts'
import type { ElectionHandle } from './elections.ts'
import { EVENTS_HEADERS, streamEvents } from './events.ts'
import type { Feed, Seats } from './feed.ts'
import { requireJson, requireLocalCall, requireSmall } from './guards.ts'
import { answerLeader, answerLeadership } from './hot.ts'
import { answerWhenNew, readWaitMs } from './long-poll.ts'
import { unknownPath, wrongMethod } from './ops.ts'
import { requireLocalHost, wantsPage } from './page/negotiate.ts'
import { Problem } from './problem.ts'
import { chooseElection, readQuery } from './query.ts'
import { historyBody, nameBody } from './reads.ts'
import { type HttpLog, JSON_TYPE, send, sendError, sendJson } from './reply.ts'
import type { Route } from './route.ts'
import { type Path, ROUTES, takes } from './routes.ts'

/** What the routes work with. */
export interface Context {
  readonly elections: readonly ElectionHandle[]
  readonly feeds: ReadonlyMap<string, Feed>
  readonly longPolls: Seats
  readonly eventReaders: Seats
  readonly clock: Clock
  readonly log: HttpLog
  readonly version: string
  /** Null where no claims are kept. */
  readonly claims: ClaimDesk | null
  /** Aborted when the servers stop. */
  readonly ending: AbortSignal
  /** The paths served on this listener, to name in a 404. */
  readonly served: readonly Path[]
}

/** A question that has been read: who asks about which election, and how. */
interface Asked {
  readonly election: ElectionHandle
  readonly query: ReadonlyMap<string, string>
  readonly request: IncomingMessage & { readonly body?: unknown }
  readonly response: ServerResponse
}

type Handle = (asked: Asked) => void | Promise<void>

export function createApp(context: Context): RequestListener {
  const app = express()
  app.disable('etag').disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  app.use((request, _response, next) => {
    if (!request.url.startsWith('/')) throw wholeTarget(request.url)
    next()
  })
  mount(app, context, '/v1/leadership', (asked) => leadership(context, asked))
  mount(app, context, '/leader', ({ election, request, response }) =>
    answerLeader(election, request.method ?? '', response),
  )
  mount(app, context, '/v1/events', (asked) => events(context, asked))
  mount(app, context, '/v1/history', async ({ election, response }) =>
    sendJson(response, 200, await historyBody(election)),
  )
  mountRoot(app, context)
  mount(app, context, '/v1/resign', ({ election, request, response }) =>
    resign(election, request.body, response),
  )
  mount(app, context, '/v1/drained', ({ election, request, response }) =>
    drained(election, request.body, response),
  )
  for (const path of Object.keys(CLAIM_ROUTES) as ClaimPath[]) mountClaims(app, context, path)
  mountDocument(app, context)
  app.use((request) => {
    throw unknownPath(request.path, context.served)
  })
  app.use(((error, request, response, _next) => {
    const mostBytes = request.path in CLAIM_ROUTES ? CLAIM_BODY_MOST_BYTES : BODY_MOST_BYTES
    sendError(response, bodyProblem(error, mostBytes) ?? error, context.log)
  }) satisfies express.ErrorRequestHandler)
  return app
}

function mount(app: express.Express, context: Context, path: Path, handle: Handle): void {
  const route: Route = ROUTES[path]
  const at = app.route(path)
  if (route.methods.includes('POST')) at.post(...guards(BODY_MOST_BYTES))
  at.all((request, response) => {
    if (!takes(path, request.method)) throw wrongMethod(path, request.method)
    const query = readQuery(request.url, route.parameters)
    const election = chooseElection(context.elections, query.get('election'))
    return handle({ election, query, request, response })
  })
}

/** What stands before a call that changes something. */
function guards(mostBytes: number): express.RequestHandler[] {
  const guard: express.RequestHandler = (request, _response, next) => {
    requireLocalCall(request)
    requireJson(request)
    requireSmall(request, mostBytes)
    next()
  }
  return [guard, express.json({ limit: mostBytes, inflate: false })]
}

/** Claims need no election. What serves them is loaded with the first call. */
function mountClaims(app: express.Express, { claims, ending }: Context, path: ClaimPath): void {
  const route: Route = CLAIM_ROUTES[path]
  const at = app.route(path)
  if (claims === null) {
    at.all(() => {
      throw claimsOff()
    })
    return
  }
  if (route.methods.includes('POST')) at.post(...guards(CLAIM_BODY_MOST_BYTES))
  at.all(async (request, response) => {
    if (!takes(path, request.method)) throw wrongMethod(path, request.method)
    const query = readQuery(request.url, route.parameters)
    const { CLAIM_CALLS } = await import('./claims.ts')
    await CLAIM_CALLS[path]({ desk: claims, ending, query, request, response })
  })
}

/** The document needs no election. */
function mountDocument(app: express.Express, { version }: Context): void {
  const path = '/openapi.json'
  let document: string | null = null
  app.all(path, async (request, response) => {
    if (!takes(path, request.method)) throw wrongMethod(path, request.method)
    readQuery(request.url, ROUTES[path].parameters)
    const { openApiDocument } = await import('./openapi.ts')
    document ??= JSON.stringify(openApiDocument(version))
    send(response, 200, JSON_TYPE, document)
  })
}

/** A browser is shown every election; a program asks about one. */
function mountRoot(app: express.Express, { elections }: Context): void {
  const path = '/'
  app.all(path, async (request, response) => {
    if (!takes(path, request.method)) throw wrongMethod(path, request.method)
    const query = readQuery(request.url, ROUTES[path].parameters)
    const name = query.get('election')
    if (!wantsPage(request.headers.accept)) {
      const body = nameBody(chooseElection(elections, name))
      send(response, 200, JSON_TYPE, JSON.stringify(body), { Vary: 'Accept' })
      return
    }
    requireLocalHost(request)
    const chosen = chooseElection(elections, name ?? elections[0]?.name)
    const { answerPage } = await import('./page/page.ts')
    answerPage(elections, chosen, response)
  })
}

function leadership(context: Context, { election, query, request, response }: Asked): void {
  const after = query.get('after')
  if (after === undefined) {
    if (query.has('wait')) throw afterRequired()
    answerLeadership(election, response)
    return
  }
  const { longPolls: seats, clock, log } = context
  const poll = { election, feed: feedOf(context, election), seats, clock, log }
  answerWhenNew(poll, after, readWaitMs(query.get('wait')), request, response)
}

function events(context: Context, { election, request, response }: Asked): void {
  if (request.method === 'HEAD') {
    response.writeHead(200, EVENTS_HEADERS).end()
    return
  }
  const stream = {
    election,
    feed: feedOf(context, election),
    seats: context.eventReaders,
    clock: context.clock,
  }
  streamEvents(stream, request, response)
}

function feedOf({ feeds }: Context, election: ElectionHandle): Feed {
  const feed = feeds.get(election.name)
  if (feed === undefined) throw new Error(`election ${election.name} has no feed`)
  return feed
}

function afterRequired(): Problem {
  return new Problem(
    400,
    'after_required',
    'wait is given without after: a long poll waits for a revision other than the one that the caller knows; add after=REVISION from the last answer',
  )
}

function claimsOff(): Problem {
  return new Problem(
    404,
    'claims_off',
    'no claims are kept here: start the sidecar with --claims, or ask one that was',
  )
}

function wholeTarget(url: string): Problem {
  return new Problem(
    400,
    'bad_target',
    `request target ${JSON.stringify(url)}: must be a path; send it straight to the sidecar, not as to a proxy`,
  )
}
