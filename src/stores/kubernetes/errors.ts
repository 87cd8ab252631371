/** From what the API server and the network say to the kinds of `StoreError`. */
import { StoreError } from '../store.ts'
import type { Reply } from './transport.ts'

export type Verb = 'get' | 'create' | 'update' | 'watch'

/** What a request was about. */
export interface About {
  readonly verb: Verb
  readonly namespace: string
  readonly name: string
}

const TLS_FAULT =
  /certificate|self-signed|self signed|altname|unable to verify|SSL routines|wrong version number/i
const TLS_REMEDY = "look at the cluster's certificate authority and at the address of the server"

const TOO_MANY = 429
const REQUEST_TIMEOUT = 408

interface Status {
  readonly message: string
  /** The kind of the object that the message is about: `leases`, `namespaces`. */
  readonly kind: string
  readonly causes: string
}

/** Makes a `StoreError` of anything that a request may throw. */
export function translate(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const { message } = error as Error
  if (TLS_FAULT.test(message)) {
    return new StoreError('misconfigured', `Kubernetes: ${message}: ${TLS_REMEDY}`, { cause: error })
  }
  return new StoreError('unavailable', `Kubernetes: ${message || describe(error)}`, { cause: error })
}

/** Whether a request failed for the certificates. */
export function isTlsFault(error: unknown): boolean {
  return error instanceof Error && TLS_FAULT.test(error.message)
}

/** Whether the reply says that the Lease, and nothing else, does not exist. */
export function isNoLease(reply: Reply): boolean {
  return reply.status === 404 && readStatus(reply).kind === 'leases'
}

const NOBODY =
  'no credentials were sent: give the user of the kubeconfig a token, a certificate or a program for them'

/** Whether the API server did not know us at all: then it is not rights that are missing. */
export function isAnonymous({ status, text }: Reply): boolean {
  return status === 403 && text.includes('system:anonymous')
}

/** What is wrong, for a reply that is neither a success nor a value. */
export function refusal(reply: Reply, about: About): StoreError {
  const status = readStatus(reply)
  const fault = (kind: StoreError['kind'], remedy: string) =>
    new StoreError(kind, `Kubernetes: ${status.message}${remedy === '' ? '' : `: ${remedy}`}`, {
      cause: null,
    })
  switch (reply.status) {
    case 401:
      return fault('denied', 'the token or certificate is not taken: give this sidecar a valid one')
    case 403:
      if (status.causes.includes('NamespaceTerminating')) {
        return fault('misconfigured', `use a namespace other than ${about.namespace}, or wait for a new one`)
      }
      if (isAnonymous(reply)) return fault('denied', NOBODY)
      return fault('denied', ruleFor(about))
    case 404:
      return status.kind === 'namespaces'
        ? fault('misconfigured', `create the namespace ${about.namespace}, or name another in the store URL`)
        : fault('misconfigured', 'is this the API server of a cluster that serves coordination.k8s.io/v1?')
    case TOO_MANY:
    case REQUEST_TIMEOUT:
      return fault('unavailable', '')
    default:
      return reply.status >= 400 && reply.status < 500
        ? fault('misconfigured', `the Lease ${about.name} in ${about.namespace} cannot be written like this`)
        : fault('unavailable', '')
  }
}

/** The rule that is missing, to be pasted. `create` cannot be bound to a name. */
function ruleFor({ verb, namespace, name }: About): string {
  const names = verb === 'create' ? '' : `, resourceNames: ["${name}"]`
  const rule = `{apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["${verb}"]${names}}`
  const or = verb === 'create' ? `, or create the Lease ${name} beforehand` : ''
  return `add the rule ${rule} to the Role of this service account in the namespace ${namespace}${or}`
}

function readStatus({ status, text }: Reply): Status {
  const fallback = {
    message: `status ${status} ${text.slice(0, 200)}`.trim(),
    reason: '',
    kind: '',
    causes: '',
  }
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return fallback
    throw error
  }
  if (typeof body !== 'object' || body === null || !('kind' in body) || body.kind !== 'Status')
    return fallback
  const { message, details } = body as {
    message?: string
    details?: { kind?: string; causes?: unknown }
  }
  return {
    message: `${message ?? 'no message'} (${status})`,
    kind: details?.kind ?? '',
    causes: JSON.stringify(details?.causes ?? []),
  }
}

/** An `AggregateError` of several addresses tried has no message of its own. */
function describe(error: unknown): string {
  const errors = error instanceof AggregateError ? (error.errors as readonly Error[]) : []
  return errors.map((one) => one.message).join(', ') || String(error)
}
