import { bad, good, type Parsed } from './parsed.ts'
import { didYouMean } from './suggest.ts'

/** What has to be known of a store before it is loaded. */
export interface StoreLimits {
  /** The shortest ttl that it can keep. */
  readonly leastTtlMs: number
  /** It keeps a ttl in steps of this length; null where any does. */
  readonly ttlStepMs: number | null
  /** A shorter ttl works, and is worth a warning; null where none is. */
  readonly warnBelowTtlMs: number | null
}

const ANY_TTL = { ttlStepMs: null, warnBelowTtlMs: null }

const POSTGRES: StoreLimits = { leastTtlMs: 3_000, ...ANY_TTL }

const BY_SCHEME: Readonly<Record<string, StoreLimits>> = {
  sqlite: { leastTtlMs: 1_000, ...ANY_TTL },
  postgres: POSTGRES,
  postgresql: POSTGRES,
  kubernetes: { leastTtlMs: 3_000, ttlStepMs: 1_000, warnBelowTtlMs: 10_000 },
}

/** Looks up the limits of the store that a URL names. */
export function storeLimits(url: string): Parsed<StoreLimits> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  const limits = scheme !== undefined && Object.hasOwn(BY_SCHEME, scheme) ? BY_SCHEME[scheme] : undefined
  if (limits !== undefined) return good(limits)
  // The URL itself is not shown: without a scheme nobody can tell where in it a password stands.
  const found = scheme === undefined ? 'the URL has no scheme' : `there is no store ${JSON.stringify(scheme)}`
  const hint = scheme === undefined ? '' : didYouMean(scheme, Object.keys(BY_SCHEME))
  return bad(
    `${found}${hint}`,
    'use sqlite:PATH, postgres://HOST/DATABASE, postgres: (the PG* variables) or kubernetes://NAMESPACE',
  )
}
