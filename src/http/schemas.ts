/** The bodies that HTTP takes and gives: what validates the one describes both in the OpenAPI document. */

import * as z from 'zod/mini'
import en from 'zod/v4/locales/en.js'
import { ENDINGS, REASONS, STATES } from '../election/status.ts'
import { CLAIM_SCHEMAS } from './claims-schemas.ts'
import { Problem as ProblemError } from './problem.ts'
import { error, generation, milliseconds, time, told } from './shapes.ts'

/** The small form of zod says nothing but "Invalid input" before it is given words. */
z.config(en())

export const ResignRequest = z.strictObject({
  holdOff: z.optional(
    told(z.string(), 'A duration with its unit, like 10s: how long not to stand again, 24h at most'),
  ),
})

export const DrainedRequest = z.strictObject({
  generation: told(generation, 'The generation under which the work ran'),
})

const Current = z.strictObject({
  holder: told(z.nullable(z.string()), 'Label of the holder, null when the lease is free'),
  generation: z.int().check(z.gte(0)),
  expiresInMs: told(z.nullable(milliseconds), "By the store's clock, as far as known"),
  observedAgeMs: told(milliseconds, 'How long ago this was seen'),
})

const Draining = z.strictObject({ generation, leaseRemainingMs: milliseconds })

const StoreFault = z.strictObject({
  kind: z.enum(['unavailable', 'denied', 'schema', 'misconfigured']),
  message: z.string(),
})

const Store = z.strictObject({
  kind: z.string(),
  location: z.string(),
  lastSuccessAgoMs: z.nullable(milliseconds),
  error: z.nullable(StoreFault),
})

const hint = {
  election: z.string(),
  identity: told(z.string(), 'Label of this instance'),
  leading: told(z.boolean(), 'May this instance act?'),
  generation: told(z.nullable(generation), 'Put it into every write; null unless leading'),
  session: told(z.nullable(z.uuid()), 'Proves the tenure together with the generation; null unless leading'),
  state: z.enum(STATES),
  reason: told(z.enum(REASONS), 'Why the present state began'),
  since: told(time, 'When it began, by the wall clock'),
  revision: told(z.string(), 'Changes with every transition; begins anew with every process'),
  current: told(z.nullable(Current), 'The record that the store last showed: a report, not a fact about now'),
  draining: told(z.nullable(Draining), 'The tenure being drained, and how long its work may still go on'),
  store: Store,
}

const Leadership = z.strictObject({
  ...hint,
  validForMs: told(
    z.nullable(milliseconds),
    'Act only before the moment you sent the question plus this; 0 unless leading; null in a long poll, which promises nothing',
  ),
})

const LeadershipEvent = z.strictObject({
  ...hint,
  transition: told(
    z.nullable(
      z.strictObject({
        from: z.enum(STATES),
        to: z.enum(STATES),
        reason: z.enum(REASONS),
        generation: told(z.nullable(generation), 'Of the tenure that began or ended'),
      }),
    ),
    'Null in the first event, which tells the present state',
  ),
})

const Tenure = z.strictObject({
  holder: told(
    z.nullable(z.string()),
    'Label of the holder; null where it had gone before it was written down',
  ),
  generation,
  from: time,
  until: told(z.nullable(time), 'Null while it lasts, and where nobody could tell: then there is a reason'),
  reason: told(z.nullable(z.enum(ENDINGS)), 'Why it ended; null while it lasts'),
  leaderlessMs: told(
    z.nullable(milliseconds),
    "How long nobody held the lease before it, on the store's clock; null where unknown",
  ),
})

const History = z.strictObject({
  election: z.string(),
  source: told(z.enum(['store', 'memory']), '`memory`: only what this process saw since it started'),
  error: told(z.nullable(StoreFault), "Why the store's history could not be read"),
  tenures: told(z.array(Tenure), 'The oldest first'),
})

const Resigned = z.strictObject({
  election: z.string(),
  generation: told(z.nullable(generation), 'The tenure that was given up; null where there was none'),
})
const Drained = z.strictObject({ election: z.string(), generation })
const HolderName = z.strictObject({ name: z.string() })
const Live = z.strictObject({ ok: z.boolean(), message: z.string() })
const Ready = z.strictObject({
  ok: z.boolean(),
  checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), message: z.string() })),
})
const Problem = z.strictObject({ error })
const StaleProblem = z.strictObject({
  error,
  current: told(z.nullable(generation), 'The generation held here; null when none is'),
})

/** By the names under which the OpenAPI document lists them. */
export const SCHEMAS = {
  Leadership,
  LeadershipEvent,
  History,
  Resigned,
  Drained,
  HolderName,
  Live,
  Ready,
  Problem,
  StaleProblem,
  ResignRequest,
  DrainedRequest,
  ...CLAIM_SCHEMAS,
}

/**
 * Checks the body of a call; a call without a body carries `{}`.
 * @throws Problem 400 that names every field at fault.
 */
export function readBody<S extends z.ZodMiniObject>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body ?? {})
  if (result.success) return result.data
  const faults = result.error.issues.map((issue) => {
    const where = issue.path.join('.')
    return where === '' ? issue.message : `${where}: ${issue.message}`
  })
  const shape = Object.keys(schema.shape).join(', ')
  throw new ProblemError(400, 'bad_body', `body: ${faults.join('; ')}; this call takes ${shape}`)
}
