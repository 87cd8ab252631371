import { isRecord } from '../../client.ts'
import { advise, type Check, fault, ok, paste } from '../check.ts'
import type { Client } from './client.ts'

const NAME = 'namespace'

/** A service account may seldom look at its namespace: then the try to write tells. */
export async function checkNamespace(client: Client, namespace: string): Promise<Check> {
  const { status, body } = await client.get(`/api/v1/namespaces/${encodeURIComponent(namespace)}`)
  if (status === 404) return noNamespace(namespace)
  const phase = isRecord(body) && isRecord(body.status) ? body.status.phase : null
  if (phase === 'Terminating') return endingNamespace(namespace)
  return ok(NAME, status === 200 ? `${namespace} is there` : `${namespace}, which this user may not look at`)
}

export function noNamespace(namespace: string): Check {
  return fault(
    NAME,
    'misconfigured',
    `there is no namespace ${namespace}`,
    'the namespace exists',
    paste(
      'manifest',
      `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${namespace}`,
      'as an administrator of the cluster, or correct its name in the store URL',
    ),
  )
}

export function endingNamespace(namespace: string): Check {
  return fault(
    NAME,
    'misconfigured',
    `the namespace ${namespace} is being deleted`,
    'the namespace takes new objects',
    advise('name another one in the store URL, or wait until it is gone and create it anew'),
  )
}
