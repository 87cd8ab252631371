import type { StoreSettings } from '../stores/store.ts'
import type { Address } from './address.ts'
import { readClaimsElection } from './claims-settings.ts'
import type { Merged } from './merge.ts'
import type { ValueOf } from './settings.ts'
import { readStore } from './store-settings.ts'

/** The settings, typed; times in whole milliseconds. Timing stands beside them. */
export interface Values {
  readonly store: StoreSettings
  /** At least one, no two alike. */
  readonly elections: readonly string[]
  readonly identity: string
  readonly observer: boolean
  readonly generationFloor: number
  readonly drainMs: number
  /** URL of the application's health check; null when it is not checked. */
  readonly appHealth: string | null
  readonly appHealthFailures: number
  /** Null when polls are not required. */
  readonly requirePollsMs: number | null
  /** Whether claims are kept. */
  readonly claims: boolean
  /** The election that must be led for that; null: none. */
  readonly claimsWhileLeading: string | null
  /** A loopback address. */
  readonly listen: Address
  /** Null when probes and metrics answer on `listen`. */
  readonly opsListen: Address | null
  readonly logLevel: ValueOf<'log-level'>
  readonly logFormat: ValueOf<'log-format'>
  /** The configuration file that was read, null for none. */
  readonly configFile: string | null
}

const REQUIRE_POLLS_LEAST_MS = 1_000

/** Null where a value is missing because a fault was noted. */
export function readValues(merged: Merged): Values | null {
  const store = readStore(merged)
  const optional = {
    appHealth: merged.value('app-health'),
    requirePollsMs: merged.value('require-polls'),
    opsListen: merged.value('ops-listen'),
    configFile: merged.value('config'),
  }
  const required = {
    elections: readElections(merged),
    identity: merged.value('identity'),
    observer: merged.value('observer'),
    generationFloor: merged.value('generation-floor'),
    drainMs: merged.value('drain'),
    appHealthFailures: merged.value('app-health-failures'),
    claims: merged.value('claims'),
    listen: merged.value('listen'),
    logLevel: merged.value('log-level'),
    logFormat: merged.value('log-format'),
  }
  const claimsWhileLeading = readClaimsElection(merged, required)
  checkPolls(merged, optional.requirePollsMs)
  checkListeners(merged, required.listen, optional.opsListen)
  if (store === null || !isComplete(required)) return null
  return { store, claimsWhileLeading, ...optional, ...required }
}

type Complete<T> = { readonly [K in keyof T]: NonNullable<T[K]> }

function isComplete<T extends object>(values: T): values is T & Complete<T> {
  return Object.values(values).every((value) => value !== null)
}

function readElections(merged: Merged): readonly string[] {
  const elections = merged.list('election')
  for (const name of new Set(elections.filter((one, i) => elections.indexOf(one) < i))) {
    merged.fault(
      merged.origin('election')?.text ?? 'election',
      `the election ${JSON.stringify(name)} is named twice`,
      'name each election once',
    )
  }
  return elections
}

function checkPolls(merged: Merged, requirePollsMs: number | null): void {
  if (requirePollsMs === null || requirePollsMs >= REQUIRE_POLLS_LEAST_MS) return
  merged.fault(
    merged.origin('require-polls')?.text ?? 'require-polls',
    `require-polls ≥ ${REQUIRE_POLLS_LEAST_MS} ms does not hold: ${requirePollsMs} ms`,
    'set a longer --require-polls, or none to require no polls',
  )
}

function checkListeners(merged: Merged, listen: Address | null, ops: Address | null): void {
  if (listen === null || ops === null || ops.port === 0) return
  if (listen.host !== ops.host || listen.port !== ops.port) return
  merged.fault(
    merged.origin('ops-listen')?.text ?? 'ops-listen',
    'the API and the probes cannot listen on one address',
    'set another --ops-listen, or none: probes and metrics then answer on --listen',
  )
}
