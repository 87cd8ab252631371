import { bad, good, type Parsed } from './parsed.ts'
import { didYouMean } from './suggest.ts'

/** What has to be known of a store before it is loaded. */
export interface StoreLimits {
  /** The shortest ttl that it can keep. */
  readonly leastTtlMs: number
}

const POSTGRES: StoreLimits = { leastTtlMs: 3_000 }

const BY_SCHEME: Readonly<Record<string, StoreLimits>> = {
  sqlite: { leastTtlMs: 1_000 },
  postgres: POSTGRES,
  postgresql: POSTGRES,
}

/** Looks up the limits of the store that a URL names. */
export function storeLimits(url: string): Parsed<StoreLimits> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  const limits = scheme !== undefined && Object.hasOwn(BY_SCHEME, scheme) ? BY_SCHEME[scheme] : undefined
  if (limits !== undefined) return good(limits)
  // The URL itself is not shown: without a scheme nobody can tell where in it a password stands.
  const found = scheme === undefined ? 'the URL has no scheme' : `there is no store ${JSON.stringify(scheme)}`
  const hint = scheme === undefined ? '' : didYouMean(scheme, Object.keys(BY_SCHEME))
  return bad(`${found}${hint}`, 'use sqlite:PATH, postgres://HOST/DATABASE or postgres: (the PG* variables)')
}
