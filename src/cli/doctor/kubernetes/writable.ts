import { isNoLease, refusal } from '../../../stores/kubernetes/errors.ts'
import { acquiredBody, createdBody } from '../../../stores/kubernetes/lease.ts'
import { isRecord } from '../../client.ts'
import { advise, type Check, fault, ok, skipped, warning } from '../check.ts'
import type { Subject } from '../subject.ts'
import type { Answer, Client } from './client.ts'
import { type Looked, leasePath } from './leases.ts'
import { endingNamespace, noNamespace } from './namespace.ts'

const NAME = 'writable'
const CONFLICT = 409

/** Tries to begin a tenure, with `dryRun=All`: admission is asked, and nothing is kept. */
export async function checkWritable(
  client: Client,
  namespace: string,
  looked: readonly Looked[],
  mayWrite: boolean,
  subject: Subject,
): Promise<readonly Check[]> {
  if (subject.config.values.observer) return [skipped(NAME, 'an observer writes nothing')]
  if (!mayWrite) return [skipped(NAME, 'not tried before the rights are there')]
  const checks: Check[] = []
  for (const one of looked) {
    if (one.record === 'unknown' || one.checks.some(({ status }) => status === 'fault')) continue
    checks.push(await tryOne(client, namespace, one, subject))
  }
  return checks
}

async function tryOne(
  client: Client,
  namespace: string,
  { name, record }: Looked,
  subject: Subject,
): Promise<Check> {
  const { clock, config } = subject
  const who = { identity: config.values.identity, session: clock.uuid() }
  const { ttlMs } = config.timing
  if (record === null || record === 'unknown') {
    const body = createdBody(name, who, 1, ttlMs, clock.date())
    return judge(
      await client.tryWrite('POST', leasePath(namespace, null), body),
      namespace,
      name,
      who.session,
    )
  }
  const body = acquiredBody(record, who, record.generation + 1, ttlMs, clock.date())
  return judge(await client.tryWrite('PUT', leasePath(namespace, name), body), namespace, name, who.session)
}

function judge(answer: Answer, namespace: string, name: string, session: string): Check {
  const { status, body, text } = answer
  if (status === 200 || status === 201) {
    return holderOf(body).endsWith(`_${session}`)
      ? ok(NAME, `${name} could be written (dry run)`)
      : changed(name)
  }
  // Renewed, made or deleted since we looked: then others write it, which shows as much.
  if (status === CONFLICT || isNoLease(answer)) return ok(NAME, `${name} is being written by others just now`)
  if (text.includes('NamespaceTerminating')) return endingNamespace(namespace)
  if (status === 404 && text.includes('"kind":"namespaces"')) return noNamespace(namespace)
  if (text.includes('does not support dry run')) return untried(text)
  const { kind, message } = refusal(answer, { verb: 'update', namespace, name })
  return fault(
    NAME,
    kind,
    message,
    'a candidate can write its Lease',
    advise(
      'where the message names a policy, a webhook or a quota, let it pass the Leases of this namespace',
    ),
  )
}

/** Of a dry run: what would be made has no version yet. */
function holderOf(body: unknown): string {
  const spec = isRecord(body) ? body.spec : null
  return isRecord(spec) && typeof spec.holderIdentity === 'string' ? spec.holderIdentity : ''
}

function changed(name: string): Check {
  return fault(
    NAME,
    'misconfigured',
    `${name} would be stored otherwise than it was sent`,
    'what is written is what is stored',
    advise('keep admission webhooks and policies from changing Leases'),
  )
}

function untried(text: string): Check {
  return warning(
    NAME,
    `an admission webhook takes no dry run: ${text.slice(0, 200)}`,
    'every webhook that Leases pass knows dry runs',
    advise('set sideEffects: None or NoneOnDryRun on that webhook, or exclude Leases from it'),
  )
}
