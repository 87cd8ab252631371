/** From the name of an election to the name of its Lease. */
import { createHash } from 'node:crypto'

/** What the API server takes as the name of an object: a DNS subdomain. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const OBJECT_NAME_MOST = 253
const ENCODED_PREFIX = 'tenure-'
/** A hexadecimal SHA-256. */
const ENCODED = /^tenure-[0-9a-f]{64}$/

/**
 * The Lease of an election has its name, where that is one that Kubernetes takes; otherwise a name made of the
 * digest, so that elections stay apart that differ only in what Kubernetes does not allow.
 */
export function leaseName(election: string): string {
  const fits = election.length <= OBJECT_NAME_MOST && OBJECT_NAME.test(election) && !ENCODED.test(election)
  if (fits) return election
  return `${ENCODED_PREFIX}${createHash('sha256').update(election, 'utf8').digest('hex')}`
}
