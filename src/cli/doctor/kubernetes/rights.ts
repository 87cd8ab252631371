import { isRecord } from '../../client.ts'
import { type Check, fault, ok, paste, type Remedy, warning } from '../check.ts'
import type { Subject } from '../subject.ts'
import type { Client } from './client.ts'
import type { Looked } from './leases.ts'
import { roleManifest } from './role.ts'

const NAME = 'rights'
const VERBS = ['get', 'update', 'create', 'watch'] as const
type Verb = (typeof VERBS)[number]

interface Rights {
  readonly checks: readonly Check[]
  /** Whether writing may be tried. */
  readonly writable: boolean
}

/** Asks for each verb and each Lease, as SelfSubjectAccessReviews. */
export async function checkRights(
  client: Client,
  namespace: string,
  user: string,
  looked: readonly Looked[],
  subject: Subject,
): Promise<Rights> {
  const { observer } = subject.config.values
  const missing: { readonly verb: Verb; readonly name: string }[] = []
  for (const { name, record } of looked) {
    for (const verb of VERBS) {
      if (!isNeeded(verb, record, observer)) continue
      if (!(await mayI(client, namespace, verb, name))) missing.push({ verb, name })
    }
  }
  const lacking = missing.filter(({ verb }) => verb !== 'watch')
  const writable = lacking.length === 0 && !observer
  if (missing.length === 0)
    return {
      checks: [
        ok(NAME, `${user} may ${observer ? 'get and watch' : 'get, create, update and watch'} what it needs`),
      ],
      writable,
    }
  const remedy = paste(
    'manifest',
    roleManifest(
      namespace,
      user,
      looked.map(({ name }) => name),
      observer,
    ),
    'as an administrator of the namespace; it counts a moment later, and a sidecar that runs needs no restart',
  )
  return {
    checks: [lacking.length > 0 ? denied(missing, user, remedy) : unwatched(missing, user, remedy)],
    writable,
  }
}

/** `create` is used where there is no Lease yet; an observer writes nothing. */
function isNeeded(verb: Verb, record: Looked['record'], observer: boolean): boolean {
  if (observer) return verb === 'get' || verb === 'watch'
  return verb !== 'create' || record === null || record === 'unknown'
}

type Missing = readonly { readonly verb: string; readonly name: string }[]

function list(missing: Missing): string {
  return missing.map(({ verb, name }) => `${verb} on the Lease ${name}`).join(', ')
}

function denied(missing: Missing, user: string, remedy: Remedy): Check {
  return fault(
    NAME,
    'denied',
    `${user} lacks ${list(missing)}`,
    'a candidate gets, creates and updates its Lease',
    remedy,
  )
}

function unwatched(missing: Missing, user: string, remedy: Remedy): Check {
  return warning(
    NAME,
    `${user} lacks ${list(missing)}`,
    'a follower is woken by a watch: without it, it asks every half ttl',
    remedy,
  )
}

async function mayI(client: Client, namespace: string, verb: Verb, name: string): Promise<boolean> {
  const resourceAttributes = {
    namespace,
    verb,
    group: 'coordination.k8s.io',
    resource: 'leases',
    // `create` is asked before there is a name.
    ...(verb !== 'create' && { name }),
  }
  const { body } = await client.review('authorization.k8s.io', 'SelfSubjectAccessReview', {
    resourceAttributes,
  })
  return isRecord(body) && isRecord(body.status) && body.status.allowed === true
}
