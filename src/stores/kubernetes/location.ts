/** `kubernetes:` URLs: which cluster, which namespace. */
import { type StoreContext, StoreError } from '../store.ts'
import type { AccessSource } from './access.ts'
import { type Environment, inClusterSource, isInCluster } from './in-cluster.ts'

/** Where the Leases are. */
export interface Place {
  readonly source: AccessSource
  readonly namespace: string
}

interface Location {
  readonly namespace: string | null
  readonly context: string | null
}

const FORM = /^kubernetes:(?:\/\/(?<namespace>[^/?#]*)\/?)?(?:\?(?<query>[^#]*))?$/i
/** A DNS label. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const USE = 'use kubernetes:, kubernetes://NAMESPACE or kubernetes://NAMESPACE?context=NAME'

/** @throws StoreError `misconfigured` */
export function parseLocation(url: string): Location {
  const parts = FORM.exec(url)?.groups
  if (parts === undefined) throw misconfigured(`the store URL ${JSON.stringify(url)} cannot be read`, USE)
  const query = new URLSearchParams(parts.query ?? '')
  for (const name of query.keys()) {
    if (name !== 'context') throw misconfigured(`the store URL has no parameter ${JSON.stringify(name)}`, USE)
  }
  const namespace = parts.namespace || null
  if (namespace !== null && !NAMESPACE.test(namespace)) {
    throw misconfigured(
      `${JSON.stringify(namespace)} is no namespace`,
      'at most 63 characters of a–z, 0–9 and -, beginning and ending with a letter or digit',
    )
  }
  return { namespace, context: query.get('context') || null }
}

/**
 * Finds the cluster and the namespace. In a pod the service account's, unless a context or KUBECONFIG names
 * another; elsewhere the kubeconfig's.
 *
 * @throws StoreError `misconfigured`
 */
export async function locate(
  url: string,
  environment: Environment,
  note: StoreContext['note'],
  serviceAccountFolder?: string,
): Promise<Place> {
  const { namespace, context } = parseLocation(url)
  const wantsKubeconfig = context !== null || (environment.KUBECONFIG ?? '') !== ''
  if (!wantsKubeconfig && isInCluster(environment)) {
    const source = await inClusterSource(environment, serviceAccountFolder)
    const found = namespace ?? source.namespace
    if (found !== null) return { source, namespace: found }
    throw misconfigured(
      'the service account names no namespace',
      'name it in the store URL: kubernetes://NAMESPACE',
    )
  }
  // Not needed in a pod, where memory counts.
  const { kubeconfigPaths, kubeconfigSource } = await import('./kubeconfig.ts')
  const source = await kubeconfigSource(kubeconfigPaths(environment), context)
  const found = namespace ?? source.namespace
  if (found !== null) return { source, namespace: found }
  note(
    `${source.name} names no namespace: the Leases are kept in "default"; kubernetes://NAMESPACE names another`,
  )
  return { source, namespace: 'default' }
}

function misconfigured(rule: string, remedy: string): StoreError {
  return new StoreError('misconfigured', `Kubernetes: ${rule}: ${remedy}`, { cause: null })
}
