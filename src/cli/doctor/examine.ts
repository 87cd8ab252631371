/** The order in which things are looked at: what everything else rests on comes first. */
import type { Flags } from '../../config/flags.ts'
import type { StoreSettings } from '../../stores/store.ts'
import type { Io } from '../command.ts'
import { type Check, type Findings, skipped } from './check.ts'
import { checkGracePeriod } from './grace-period.ts'
import { examineSettings } from './settings.ts'
import { examineSidecar } from './sidecar.ts'
import type { Subject } from './subject.ts'
import { checkTwin } from './twin.ts'

/** Each loaded when it is asked for, as the stores are. */
const STORES: Readonly<Record<string, () => Promise<(subject: Subject) => Promise<Findings>>>> = {
  sqlite: async () => (await import('./sqlite/examine.ts')).examineSqlite,
  postgres: async () => (await import('./postgres/examine.ts')).examinePostgres,
  postgresql: async () => (await import('./postgres/examine.ts')).examinePostgres,
  kubernetes: async () => (await import('./kubernetes/examine.ts')).examineKubernetes,
}

/** Looks at everything and changes nothing. `graceMs`: from SIGTERM to SIGKILL; null where nobody told. */
export async function examine(flags: Flags, io: Io, graceMs: number | null): Promise<readonly Check[]> {
  const { environment, clock } = io
  const { config, checks } = await examineSettings({ flags, environment })
  if (config === null) return [...checks, skipped('store', 'not looked at before the settings can be read')]
  const subject: Subject = { config, environment, clock }
  const { values } = config
  const store = await (await storeOf(values.store))(subject)
  const sidecar = await examineSidecar(subject, flags, io)
  return [
    ...checks,
    checkGracePeriod(graceMs, values.drainMs),
    ...store.checks,
    ...sidecar.checks,
    ...store.leases.map((lease) => checkTwin(lease, values.identity, sidecar.neighbour)),
  ]
}

function storeOf({ url }: StoreSettings): Promise<(subject: Subject) => Promise<Findings>> {
  const scheme = url.slice(0, url.indexOf(':')).toLowerCase()
  const load = STORES[scheme]
  // The settings have been checked: they name no other.
  if (load === undefined) throw new Error(`there is no examination of the store ${JSON.stringify(scheme)}`)
  return load()
}
