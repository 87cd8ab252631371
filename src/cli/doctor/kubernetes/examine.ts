/** A Kubernetes store: who we are, what we may, and each Lease. Writes are tried with `dryRun=All` only. */
import { Deadline } from '../../../stores/deadline.ts'
import type { Access } from '../../../stores/kubernetes/access.ts'
import { translate } from '../../../stores/kubernetes/errors.ts'
import { locate, type Place } from '../../../stores/kubernetes/location.ts'
import { Transport } from '../../../stores/kubernetes/transport.ts'
import { advise, type Check, type Findings, fault, faultOf, paste, warning } from '../check.ts'
import { STORE_WITHIN_MS, type Subject } from '../subject.ts'
import { Client } from './client.ts'
import { readLeases } from './leases.ts'
import { checkNamespace } from './namespace.ts'
import { checkRights } from './rights.ts'
import { examineServer } from './server.ts'
import { checkWritable } from './writable.ts'

export async function examineKubernetes(subject: Subject): Promise<Findings> {
  const attempt = { timeoutMs: STORE_WITHIN_MS, signal: new AbortController().signal }
  const deadline = new Deadline(subject.clock, attempt, 'Kubernetes')
  const transport = new Transport()
  try {
    const found = await findPlace(subject)
    if (found.place === null) return { checks: found.checks, leases: [] }
    const { place } = found
    const access = await readAccess(place)
    if ('check' in access) return { checks: [...found.checks, access.check], leases: [] }
    const client = new Client(transport, access.access, deadline.signal)
    const { checks, leases } = await examinePlace(client, place, subject)
    return { checks: [...found.checks, ...checks], leases }
  } catch (error) {
    return { checks: [unreachable(error)], leases: [] }
  } finally {
    transport.close()
    deadline.close()
  }
}

async function findPlace({
  config,
  environment,
}: Subject): Promise<{ place: Place | null; checks: readonly Check[] }> {
  const checks: Check[] = []
  const note = (text: string) =>
    checks.push(
      warning(
        'namespace',
        text,
        'the namespace is named, so that every candidate uses the same one',
        paste(
          'flags',
          '--store kubernetes://default',
          'name the namespace of the application in the store URL',
        ),
      ),
    )
  try {
    return { place: await locate(config.values.store.url, environment, note), checks }
  } catch (error) {
    return { place: null, checks: [...checks, faultOf('credentials', error)] }
  }
}

async function readAccess({ source }: Place): Promise<{ access: Access } | { check: Check }> {
  try {
    return { access: await source.read(false) }
  } catch (error) {
    const found = `${source.name}: ${error instanceof Error ? error.message : String(error)}`
    const remedy = advise('mend the file or the program that the kubeconfig names for this user')
    return { check: fault('credentials', 'denied', found, 'the credentials can be read', remedy) }
  }
}

function unreachable(error: unknown): Check {
  const { kind, message } = translate(error)
  const trusted = kind === 'misconfigured'
  return fault(
    'server',
    kind,
    message,
    trusted
      ? 'the certificate of the server is one that the cluster is known by'
      : 'the API server answers in time',
    advise(
      trusted
        ? 'correct certificate-authority-data in the kubeconfig, or the address of the server'
        : 'look whether the API server runs, at the address in the kubeconfig, and at network policies between',
    ),
  )
}

async function examinePlace(client: Client, place: Place, subject: Subject): Promise<Findings> {
  const { checks: server, user } = await examineServer(client, place, subject)
  if (user === null) return { checks: server, leases: [] }
  const namespace = await checkNamespace(client, place.namespace)
  if (namespace.status === 'fault') return { checks: [...server, namespace], leases: [] }
  const looked = await readLeases(client, place.namespace, subject)
  const rights = await checkRights(client, place.namespace, user, looked, subject)
  const writable = await checkWritable(client, place.namespace, looked, rights.writable, subject)
  const sightings = looked.flatMap(({ checks }) => checks)
  const checks = [...server, namespace, ...rights.checks, ...sightings, ...writable]
  return { checks, leases: looked.flatMap(({ lease }) => lease ?? []) }
}
