/** The gauges: computed when they are scraped, from the clocks as they stand then. */
import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../clock/clock.ts'
import type { Status } from '../election/status.ts'
import {
  generationOf,
  hasLeader,
  hasTwin,
  isLeader,
  lastSuccessS,
  leaseRemainingS,
  stateReadings,
} from './readings.ts'

/** What is measured of an election. */
export interface Measured {
  readonly name: string
  readonly ttlMs: number
  readonly marginMs: number
}

const SUBSCRIBER_KINDS = ['long_poll', 'events'] as const
export type SubscriberKind = (typeof SUBSCRIBER_KINDS)[number]

/** Where a scrape looks. Null, and 0 subscribers, as long as nothing runs yet. */
interface Sources {
  status(election: string): Status | null
  subscribers(election: string, kind: SubscriberKind): number
}

export interface GaugeParts {
  readonly registry: Registry
  readonly clock: Clock
  readonly elections: readonly Measured[]
  readonly sources: Sources
}

export function registerGauges(parts: GaugeParts): void {
  registerReadings(parts)
  registerStates(parts)
  registerSubscribers(parts)
}

/** One value for each election. */
function registerReadings(parts: GaugeParts): void {
  const { clock, sources } = parts
  const read = (name: string, help: string, value: (status: Status, election: Measured) => number): void =>
    registerGauge(parts, name, help, (election) => {
      const status = sources.status(election.name)
      return status === null ? 0 : value(status, election)
    })
  read('tenure_is_leader', '1 while this instance may act.', isLeader)
  read(
    'tenure_has_leader',
    '1 while this instance knows of a holder whose lease has not run out.',
    (status, { ttlMs }) => hasLeader(status, ttlMs),
  )
  read(
    'tenure_twin_identity',
    '1 while the lease is held under the identity of this instance, and not by it: by a twin, or by what it was before.',
    (status, { ttlMs }) => hasTwin(status, ttlMs),
  )
  read(
    'tenure_generation',
    'Generation held here, or else last seen in the store; 0 before any.',
    generationOf,
  )
  read(
    'tenure_lease_remaining_seconds',
    'Time until the holder must stop, while this instance holds the lease; 0 otherwise.',
    leaseRemainingS,
  )
  read(
    'tenure_last_success_timestamp_seconds',
    'When the store last answered this instance; 0 before the first answer.',
    (status) => lastSuccessS(status, clock.date()),
  )
  registerGauge(
    parts,
    'tenure_ttl_seconds',
    'How long the store keeps a lease alive.',
    ({ ttlMs }) => ttlMs / 1_000,
  )
  registerGauge(
    parts,
    'tenure_margin_seconds',
    'How much earlier than the store the holder stops.',
    ({ marginMs }) => marginMs / 1_000,
  )
}

function registerGauge(
  { registry, elections }: GaugeParts,
  name: string,
  help: string,
  value: (election: Measured) => number,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['election'],
    registers: [registry],
    collect() {
      for (const election of elections) this.set({ election: election.name }, value(election))
    },
  })
}

function registerStates({ registry, elections, sources }: GaugeParts): void {
  new Gauge({
    name: 'tenure_state',
    help: '1 for the state that the election is in here, 0 for the others.',
    labelNames: ['election', 'state'],
    registers: [registry],
    collect() {
      for (const { name } of elections) {
        for (const [state, value] of stateReadings(sources.status(name)))
          this.set({ election: name, state }, value)
      }
    },
  })
  new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this instance may act. The name that client-go gives it, for dashboards that exist.',
    labelNames: ['name'],
    registers: [registry],
    collect() {
      for (const { name } of elections) {
        const status = sources.status(name)
        this.set({ name }, status === null ? 0 : isLeader(status))
      }
    },
  })
}

function registerSubscribers({ registry, elections, sources }: GaugeParts): void {
  new Gauge({
    name: 'tenure_http_subscribers',
    help: 'Readers on the line: long polls and event streams.',
    labelNames: ['election', 'kind'],
    registers: [registry],
    collect() {
      for (const { name } of elections) {
        for (const kind of SUBSCRIBER_KINDS)
          this.set({ election: name, kind }, sources.subscribers(name, kind))
      }
    },
  })
}
