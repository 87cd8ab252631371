/** Each Lease as it stands. */
import { GENERATION_MOST, type LeaseRecord, readLease } from '../../../stores/kubernetes/lease.ts'
import { leaseName } from '../../../stores/kubernetes/names.ts'
import { isRecord } from '../../client.ts'
import { advise, type Check, fault, type Lease, ok, paste, type Remedy, warning } from '../check.ts'
import { shellWord } from '../quote.ts'
import type { Subject } from '../subject.ts'
import type { Client } from './client.ts'

const NAME = 'lease'
const OTHER_NAME = 'every candidate has to use the same name'

/** What a look at the Lease of one election brought. */
export interface Looked {
  readonly election: string
  readonly name: string
  /** `unknown`: we may not look. */
  readonly record: LeaseRecord | null | 'unknown'
  readonly lease: Lease | null
  readonly checks: readonly Check[]
}

export function leasePath(namespace: string, name: string | null): string {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`
  return name === null ? leases : `${leases}/${name}`
}

export async function readLeases(
  client: Client,
  namespace: string,
  subject: Subject,
): Promise<readonly Looked[]> {
  const { elections } = subject.config.values
  return Promise.all(elections.map((election) => look(client, namespace, election, subject)))
}

async function look(client: Client, namespace: string, election: string, subject: Subject): Promise<Looked> {
  const name = leaseName(election)
  const { status, body } = await client.get(leasePath(namespace, name))
  const record = status === 200 ? readLease(body) : null
  if (record === null) {
    const checks = status === 404 ? [ok(NAME, `${name} is not there yet: the first candidate makes it`)] : []
    return { election, name, record: status === 404 ? null : 'unknown', lease: null, checks }
  }
  const { holder, session, generation } = record
  const lease = { election, holder, session, generation, live: session !== null }
  return { election, name, record, lease, checks: checksOf(record, election, namespace, subject) }
}

function checksOf(
  record: LeaseRecord,
  election: string,
  namespace: string,
  subject: Subject,
): readonly Check[] {
  const { generationFloor } = subject.config.values
  const checks = [
    record.strategy === null ? null : coordinated(record, election),
    Math.max(record.generation, generationFloor) < GENERATION_MOST ? null : usedUp(record, election),
    isForeign(record) ? foreign(record, election) : null,
    ...keptBy(record, namespace),
  ].filter((check) => check !== null)
  if (checks.length > 0) return checks
  return [
    ok(
      NAME,
      `${record.name}: ${record.holder === null ? 'free' : `held by ${record.holder}`}, generation ${record.generation}`,
    ),
  ]
}

function otherElection(election: string, advice: string): Remedy {
  return paste('instead', `--election ${shellWord(`${election}-tenure`)}`, `${advice}; ${OTHER_NAME}`)
}

function coordinated({ name, strategy }: LeaseRecord, election: string): Check {
  return fault(
    NAME,
    'misconfigured',
    `${name} has the strategy ${JSON.stringify(strategy)}: its holder is chosen by coordinated leader election`,
    'the holder of the Lease is chosen by its candidates',
    otherElection(election, 'use another name for the election'),
  )
}

function usedUp({ name, generation }: LeaseRecord, election: string): Check {
  const isFloor = generation < GENERATION_MOST
  return fault(
    NAME,
    'misconfigured',
    isFloor
      ? `--generation-floor leaves no generation: leaseTransitions ends at ${GENERATION_MOST}`
      : `${name} has used up its generations (leaseTransitions is ${generation})`,
    `the next generation is ${GENERATION_MOST} at most`,
    isFloor
      ? paste('flags', `--generation-floor ${generation}`, 'set a lower floor')
      : otherElection(election, 'use another name, and tell what fences by the old one'),
  )
}

/** A session is a UUID of ours; of other candidates the whole identity stands there. */
function isForeign({ holderIdentity, session }: LeaseRecord): boolean {
  return session !== null && session === holderIdentity
}

function foreign({ name, holder }: LeaseRecord, election: string): Check {
  return warning(
    NAME,
    `${name} is held by ${JSON.stringify(holder)}, a candidate that is not Tenure's (client-go, or a controller)`,
    'whoever fences by the generation contends with candidates that raise it: those of client-go do not when they restart under their name',
    otherElection(election, 'use another name unless the two are meant to contend'),
  )
}

/** What may take the Lease away, and the generation with it. */
function keptBy({ raw, name }: LeaseRecord, namespace: string): readonly Check[] {
  const metadata = isRecord(raw.metadata) ? raw.metadata : {}
  const rule = 'the Lease stays: whoever makes it anew starts from generation 1'
  const without = (field: string, advice: string) =>
    paste(
      'shell',
      `kubectl -n ${namespace} patch lease ${name} --type merge -p '{"metadata":{"${field}":null}}'`,
      advice,
    )
  const owners = Array.isArray(metadata.ownerReferences) && metadata.ownerReferences.length > 0
  return [
    ...(owners
      ? [
          warning(
            NAME,
            `${name} has an owner, with which it is deleted`,
            rule,
            without('ownerReferences', 'make it nobody’s'),
          ),
        ]
      : []),
    ...(typeof metadata.deletionTimestamp === 'string'
      ? [
          warning(
            NAME,
            `${name} is being deleted, and waits for its finalizers`,
            rule,
            advise(
              'let the deletion finish before a candidate starts, and set --generation-floor to the generation that it had',
            ),
          ),
        ]
      : []),
  ]
}
