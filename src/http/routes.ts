/** Every route: its methods, its parameters and its answers. Dispatch, `Allow` and the OpenAPI document read this. */

import { CLAIM_ROUTES } from './claims-routes.ts'
import type { Answering, Route } from './route.ts'

const READ = ['GET', 'HEAD'] as const
const BAD_QUERY: Answering = { description: 'The query cannot be read', schema: 'Problem' }
const UNKNOWN: Answering = { description: 'No such election runs here', schema: 'Problem' }
const REFUSED: Answering = { description: 'The call is not local, or was not meant', schema: 'Problem' }
const FULL: Answering = { description: 'Too many wait already', schema: 'Problem' }
const FAULT: Answering = { description: 'A defect; take it for "not leading"', schema: 'Problem' }
const TOO_LARGE: Answering = { description: 'The body is larger than 4 kB', schema: 'Problem' }
const NO_JSON: Answering = { description: 'The body is not declared as JSON', schema: 'Problem' }

export const ROUTES = {
  '/v1/leadership': {
    methods: READ,
    summary:
      'May this instance act? With `after`, returns at the next change, with `validForMs` null: a hint to ask again.',
    parameters: ['election', 'after', 'wait'],
    answers: {
      200: { description: 'The leadership at this moment', schema: 'Leadership' },
      400: BAD_QUERY,
      404: UNKNOWN,
      500: FAULT,
      503: FULL,
    },
  },
  '/leader': {
    methods: ['GET', 'HEAD', 'OPTIONS'],
    summary: '200 while this instance may act, 503 otherwise. HEAD and OPTIONS give the code alone.',
    parameters: ['election'],
    answers: {
      200: { description: 'Leading', schema: 'Leadership' },
      400: BAD_QUERY,
      404: UNKNOWN,
      500: FAULT,
      503: { description: 'Not leading', schema: 'Leadership' },
    },
  },
  '/v1/events': {
    methods: READ,
    summary:
      'Server-sent events named `leadership`: the present state first, then each transition in order. Hints: no promise.',
    parameters: ['election'],
    answers: {
      200: {
        description: 'A stream; `data` of each event is this schema',
        schema: 'LeadershipEvent',
        type: 'text/event-stream',
      },
      400: BAD_QUERY,
      404: UNKNOWN,
      500: FAULT,
      503: FULL,
    },
  },
  '/v1/history': {
    methods: READ,
    summary:
      'The last tenures, the oldest first: those that the store has written down, or else those that this process saw.',
    parameters: ['election'],
    answers: {
      200: { description: 'Tenures', schema: 'History' },
      400: BAD_QUERY,
      404: UNKNOWN,
      500: FAULT,
    },
  },
  '/v1/resign': {
    methods: ['POST'],
    summary:
      'Steps down and does not stand for `holdOff`. An instance that does not lead holds off all the same, and answers `generation` null.',
    parameters: ['election'],
    body: 'ResignRequest',
    answers: {
      200: { description: 'Not leading from now on', schema: 'Resigned' },
      400: { description: 'The query or the body cannot be read', schema: 'Problem' },
      403: REFUSED,
      404: UNKNOWN,
      409: { description: 'There is nothing that could be resigned', schema: 'Problem' },
      413: TOO_LARGE,
      415: NO_JSON,
      500: FAULT,
    },
  },
  '/v1/drained': {
    methods: ['POST'],
    summary: 'The work under this generation has stopped: the lease may be released now.',
    parameters: ['election'],
    body: 'DrainedRequest',
    answers: {
      200: { description: 'Taken note of', schema: 'Drained' },
      400: { description: 'The query or the body cannot be read', schema: 'Problem' },
      403: REFUSED,
      404: UNKNOWN,
      409: {
        description: 'Another generation is held, or none; nothing was changed',
        schema: 'StaleProblem',
      },
      413: TOO_LARGE,
      415: NO_JSON,
      500: FAULT,
    },
  },
  '/': {
    methods: READ,
    summary:
      "The holder's label, empty while there is none; this instance's own only while it may act. Browsers, which accept HTML, get the status page.",
    parameters: ['election'],
    answers: {
      200: { description: 'The label, or the page', schema: 'HolderName', page: true },
      400: BAD_QUERY,
      403: { description: 'The page was asked for under the name of another host', schema: 'Problem' },
      404: UNKNOWN,
      500: FAULT,
    },
  },
  ...CLAIM_ROUTES,
  '/openapi.json': {
    methods: READ,
    summary: 'This document.',
    parameters: [],
    answers: { 200: { description: 'OpenAPI 3.1', schema: 'Document' }, 400: BAD_QUERY, 500: FAULT },
  },
  '/livez': {
    methods: READ,
    summary: 'Does the process turn?',
    parameters: [],
    ops: true,
    answers: {
      200: { description: 'It does', schema: 'Live' },
      500: FAULT,
      503: { description: 'It does not', schema: 'Live' },
    },
  },
  '/readyz': {
    methods: READ,
    summary: 'Is this instance able to contend? Independent of who leads.',
    parameters: [],
    ops: true,
    answers: {
      200: { description: 'It is', schema: 'Ready' },
      500: FAULT,
      503: { description: 'Not yet', schema: 'Ready' },
    },
  },
  '/metrics': {
    methods: READ,
    summary: 'Metrics in the text format of Prometheus.',
    parameters: [],
    ops: true,
    answers: { 200: { description: 'Metrics', schema: 'text', type: 'text/plain' }, 500: FAULT },
  },
} as const satisfies Readonly<Record<string, Route>>

export type Path = keyof typeof ROUTES

export function takes(path: Path, method: string): boolean {
  const methods: readonly string[] = ROUTES[path].methods
  return methods.includes(method)
}

/** What the `Allow` header of a route says. */
export function allowed(path: Path): string {
  return ROUTES[path].methods.join(', ')
}
