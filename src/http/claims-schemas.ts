/** The bodies of the calls on the claim book. */
import * as z from 'zod/mini'
import { HOLDER_MOST_CHARACTERS, NAMES_SOME } from '../claims/limits.ts'
import { PATH_MOST_CHARACTERS } from '../claims/path.ts'
import { error, milliseconds, time, told } from './shapes.ts'

/** In one request. */
const PATHS_MOST = 32

const count = z.int().check(z.gte(0))
const label = z
  .string()
  .check(z.minLength(1), z.maxLength(HOLDER_MOST_CHARACTERS), z.regex(/^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+$/u))
const path = z.string().check(z.maxLength(PATH_MOST_CHARACTERS))
const paths = z.array(path).check(z.minLength(1), z.maxLength(PATHS_MOST))
const token = told(z.uuid(), 'Of a grant: proves whose the claims are')
const epoch = told(z.uuid(), 'Random: another epoch is another, empty book')
const leftOff = told(
  count,
  `How many more there are; counting ends when ${NAMES_SOME.lookedAtMost} have been looked at`,
)
const claimGeneration = told(z.int().check(z.gte(1)), 'Grows with every grant; a refresh is a new one')

export const ClaimAcquireRequest = z.strictObject({
  holder: z.optional(
    told(
      label,
      'A label for others to read; proves nothing. May be left out with `token`, and stays the same',
    ),
  ),
  paths: told(paths, 'All are granted, or none; a directory covers all below it'),
  ttl: z.optional(told(z.string(), 'A duration with its unit, 24h at most; 300s when left out')),
  wait: z.optional(
    told(z.string(), 'How long to wait at most, with a unit, cut to 60s; when left out, not at all'),
  ),
  token: z.optional(token),
})

export const ClaimReleaseRequest = z.strictObject({
  token,
  paths: z.optional(told(paths, 'As they were claimed; all when left out')),
})

export const ClaimPinRequest = z.strictObject({
  token,
  path: told(path, 'Where the work runs: the claim closest above it is pinned'),
  for: z.optional(
    told(z.string(), 'When the pin ends by itself, with a unit, 10m at most; 60s when left out'),
  ),
})

export const ClaimUnpinRequest = z.strictObject({ pin: told(z.uuid(), 'What the pin was answered with') })

const claim = {
  path: told(z.string(), 'As given'),
  holder: z.string(),
  claimGeneration,
  ttlMs: milliseconds,
  heldForMs: milliseconds,
  expiresInMs: told(milliseconds, '0 once only pins keep it alive'),
  pins: count,
  ends: told(
    z.nullable(z.enum(['expired', 'released', 'replaced'])),
    'What takes effect with the last unpin; null while the claim holds by its own right',
  ),
}
const Claim = z.strictObject(claim)

const ClaimGranted = z.strictObject({
  granted: z.literal(true),
  epoch,
  holder: z.string(),
  token: told(z.uuid(), 'Proves the claims, and what it is shown to acquire, until the last is over'),
  claims: z.array(Claim),
})

const ClaimRefused = z.strictObject({
  error,
  granted: z.literal(false),
  epoch,
  conflicts: told(
    z.array(
      z.strictObject({
        path: told(z.string(), 'As asked for'),
        heldPath: z.string(),
        holder: z.string(),
        heldForMs: milliseconds,
        expiresInMs: told(z.nullable(milliseconds), 'When it ends unless it is refreshed'),
        pinned: z.boolean(),
      }),
    ),
    `Claims of others that overlap, the first ${NAMES_SOME.most}`,
  ),
  conflictsLeftOff: leftOff,
  ahead: told(
    z.array(
      z.strictObject({
        path: z.string(),
        waitedPath: z.string(),
        holder: z.string(),
        waitingForMs: milliseconds,
        endsInMs: milliseconds,
      }),
    ),
    `Overlapping waits that began earlier, the first ${NAMES_SOME.most}`,
  ),
  aheadLeftOff: leftOff,
  badPaths: told(
    z.array(z.strictObject({ path: z.string(), rule: z.string() })),
    'Paths that the book cannot reason about',
  ),
  cycle: told(z.array(z.string()), 'Who would wait for each other for ever, in that order'),
})

const ClaimProblem = z.strictObject({ error, epoch })

const ClaimReleased = z.strictObject({
  epoch,
  released: z.array(z.string()),
  deferred: told(z.array(z.string()), 'Given back, and free at the last unpin'),
  notHeld: told(z.array(z.string()), 'As asked for: nothing is held at exactly this path'),
})

const ClaimCovering = z.strictObject({
  epoch,
  verdict: told(z.enum(['own', 'other', 'free']), 'Write only where it is `own`'),
  claim: told(z.nullable(Claim), 'What decided'),
  rule: told(z.nullable(z.string()), 'The rule that the path breaks'),
  tokenProves: told(
    z.nullable(z.boolean()),
    'Whether the token proves anything: false once its claims are over; null when none was shown',
  ),
})

const Claims = z.strictObject({
  workspace: z.string(),
  epoch,
  at: time,
  claims: z.array(z.strictObject({ ...claim, acquiredAt: time, expiresAt: time })),
  waits: z.array(
    z.strictObject({
      holder: z.string(),
      paths: z.array(z.string()),
      waitingForMs: milliseconds,
      endsInMs: milliseconds,
      waitsFor: told(z.array(z.string()), `Labels, of ${NAMES_SOME.most} at most`),
      waitsForMore: told(z.boolean(), 'Whether it is for more of them than are named'),
    }),
  ),
  pins: z.array(
    z.strictObject({
      path: z.string(),
      holder: z.string(),
      claimGeneration,
      pinnedForMs: milliseconds,
      endsInMs: z.nullable(milliseconds),
    }),
  ),
})

const ClaimPinned = z.strictObject({
  epoch,
  pin: told(z.uuid(), 'Proves the pin: what the unpin takes'),
  endsInMs: z.nullable(milliseconds),
  claim: Claim,
})

const ClaimUnpinned = z.strictObject({
  epoch,
  ended: told(
    z.nullable(z.enum(['expired', 'released', 'replaced'])),
    'What took effect; null while the claim, or another pin on it, goes on',
  ),
})

/** By the names under which the OpenAPI document lists them. */
export const CLAIM_SCHEMAS = {
  ClaimAcquireRequest,
  ClaimReleaseRequest,
  ClaimPinRequest,
  ClaimUnpinRequest,
  ClaimGranted,
  ClaimRefused,
  ClaimProblem,
  ClaimReleased,
  ClaimCovering,
  Claims,
  ClaimPinned,
  ClaimUnpinned,
}
