/** The routes of the claim book. They are served where `--claims` is given. */
import type { Answering, Route } from './route.ts'

const BAD: Answering = { description: 'The query or the body cannot be read', schema: 'Problem' }
const OFF: Answering = { description: 'No claims are kept here', schema: 'Problem' }
const VOID: Answering = {
  description: 'There is no book: claims are kept while leading, and this instance does not lead',
  schema: 'Problem',
}
const FAULT: Answering = { description: 'A defect; take it for a refusal', schema: 'Problem' }
const LOST: Answering = {
  description: 'The token proves nothing any more; nothing was changed',
  schema: 'ClaimProblem',
}
/** What every call that changes something may be answered. */
const CALL = {
  400: BAD,
  403: { description: 'The call is not local, or was not meant', schema: 'Problem' },
  404: OFF,
  413: { description: 'The body is larger than 64 kB', schema: 'Problem' },
  415: { description: 'The body is not declared as JSON', schema: 'Problem' },
  500: FAULT,
} as const satisfies Route['answers']

export const CLAIM_ROUTES = {
  '/v1/claims': {
    methods: ['GET', 'HEAD'],
    summary: 'Claims, waits and pins, from one instant.',
    parameters: [],
    claims: true,
    answers: {
      200: { description: 'Everything in the book', schema: 'Claims' },
      400: BAD,
      404: OFF,
      500: FAULT,
      503: VOID,
    },
  },
  '/v1/claims/covering': {
    methods: ['GET', 'HEAD'],
    summary:
      'Whose is the path, seen by the owner that `token` proves, by whoever is called `holder`, or by nobody?',
    parameters: ['path', 'token', 'holder'],
    claims: true,
    answers: {
      200: { description: 'The verdict', schema: 'ClaimCovering' },
      400: BAD,
      404: OFF,
      500: FAULT,
      503: VOID,
    },
  },
  '/v1/claims/acquire': {
    methods: ['POST'],
    summary:
      'Grants all paths or none. With `token` what it proves is no obstacle, and is refreshed on the same path. With `wait` it waits in the queue, first come first served; who holds anything may not.',
    parameters: [],
    claims: true,
    body: 'ClaimAcquireRequest',
    answers: {
      ...CALL,
      200: { description: 'Granted', schema: 'ClaimGranted' },
      400: {
        description:
          'The body cannot be read, the book cannot reason about a path, or `holder` is missing or not that of the token',
        schema: 'Problem',
      },
      409: {
        description:
          'Refused (`conflict`), waited in vain (`timeout`), refused to wait (`holding`, `cycle`), or the token proves nothing any more (`lost`); nothing was changed',
        schema: 'ClaimRefused',
      },
      503: {
        description: 'There is no room for more claims or waits, no book, or the sidecar stops',
        schema: 'Problem',
      },
    },
  },
  '/v1/claims/release': {
    methods: ['POST'],
    summary: 'Releases what the token proves. What is pinned ends at the unpin.',
    parameters: [],
    claims: true,
    body: 'ClaimReleaseRequest',
    answers: {
      ...CALL,
      200: { description: 'What was released', schema: 'ClaimReleased' },
      409: LOST,
      503: VOID,
    },
  },
  '/v1/claims/pin': {
    methods: ['POST'],
    summary: 'Keeps a claim generation alive while work runs under it, up to a bound.',
    parameters: [],
    claims: true,
    body: 'ClaimPinRequest',
    answers: {
      ...CALL,
      200: { description: 'Pinned', schema: 'ClaimPinned' },
      409: {
        description: 'The token proves nothing any more, or no claim in force that covers the path',
        schema: 'ClaimProblem',
      },
      503: { description: 'There is no room for more pins, or no book', schema: 'Problem' },
    },
  },
  '/v1/claims/unpin': {
    methods: ['POST'],
    summary: 'Ends a pin; with the last one of a claim its expiry or release takes effect.',
    parameters: [],
    claims: true,
    body: 'ClaimUnpinRequest',
    answers: {
      ...CALL,
      200: { description: 'Unpinned', schema: 'ClaimUnpinned' },
      409: { description: 'There is no such pin any more; nothing was changed', schema: 'ClaimProblem' },
      503: VOID,
    },
  },
} as const satisfies Readonly<Record<string, Route>>
