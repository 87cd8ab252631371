/** Every host that the URL names: whether it can be reached and logged in to. */
import type { Deadline } from '../../../stores/deadline.ts'
import { Connector } from '../../../stores/postgres/connect.ts'
import { translate } from '../../../stores/postgres/errors.ts'
import { describeHost, type Host, type Location } from '../../../stores/postgres/location.ts'
import type { PasswordFor } from '../../../stores/postgres/password.ts'
import type { Facts, Session } from '../../../stores/postgres/session.ts'
import type { StoreError } from '../../../stores/store.ts'
import { advise, type Check, warning } from '../check.ts'
import type { Subject } from '../subject.ts'
import { explainRefusal } from './refusal.ts'

interface Connected {
  readonly session: Session
  readonly facts: Facts
}

interface Reached {
  /** The host that can be written, else any that answers; null where none does. */
  readonly connected: Connected | null
  readonly checks: readonly Check[]
}

interface Attempted {
  readonly host: Host
  readonly connected: Connected | null
  readonly error: StoreError | null
}

/** A standby, too, can be asked what is wrong with it. */
export function acceptAny(): void {}

export async function reach(
  location: Location,
  passwordFor: PasswordFor,
  { clock }: Subject,
  deadline: Deadline,
): Promise<Reached> {
  const attempts: Attempted[] = []
  for (const [i, host] of location.hosts.entries()) {
    // Half of the time is for the questions that follow.
    const part = deadline.part(deadline.remainingMs / 2 / (location.hosts.length - i))
    try {
      const connected = await new Connector({ ...location, hosts: [host] }, passwordFor, clock).connect(
        part,
        acceptAny,
      )
      attempts.push({ host, connected, error: null })
    } catch (error) {
      attempts.push({ host, connected: null, error: translate(error) })
    } finally {
      part.close()
    }
  }
  const answering = attempts.flatMap(({ connected }) => connected ?? [])
  const best = answering.find(({ facts }) => !facts.standby && !facts.readOnly) ?? answering[0] ?? null
  for (const { session } of answering) if (session !== best?.session) session.destroy()
  const failed = attempts.flatMap(({ host, error }) => (error === null ? [] : [{ host, error }]))
  const checks = failed.map(({ host, error }) =>
    best === null ? explainRefusal(error, location) : missing(host, error),
  )
  return { connected: best, checks }
}

function missing(host: Host, { message }: StoreError): Check {
  return warning(
    'server',
    message,
    'every host that the store URL names can be reached, or it is no spare',
    advise(`bring ${describeHost(host)} back, or leave it out of the store URL`),
  )
}
