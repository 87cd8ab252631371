import { isIPv6 } from 'node:net'
import type { Address } from '../config/address.ts'
import type { Flags } from '../config/flags.ts'
import { mergeSources } from '../config/load.ts'
import type { Merged } from '../config/merge.ts'
import { ConfigError } from '../config/origin.ts'
import type { SettingName } from '../config/settings.ts'
import type { Io } from './command.ts'

/** The settings that say which sidecar, and which of its elections. */
export const TARGET_SETTINGS = ['listen', 'election', 'config'] as const satisfies readonly SettingName[]

/** The sidecar that a command talks to. */
export interface Target {
  /** Base URL of the API, without a slash at the end. */
  readonly api: string
  /** Base URL of the probes. */
  readonly probes: string
  /** Names to ask for; a single null asks for the only election there is. */
  readonly elections: readonly (string | null)[]
}

/** Merges what a command needs; `read` adds the command's own faults before all of them are thrown. */
export async function readTarget<T>(
  flags: Flags,
  io: Io,
  read: (merged: Merged) => T,
): Promise<{ target: Target; own: T }> {
  const scope = [...TARGET_SETTINGS, 'ops-listen'] as const
  const merged = await mergeSources({ flags, environment: io.environment, scope }, false)
  const listen = merged.value('listen')
  const ops = merged.value('ops-listen')
  const elections = merged.isSet('election') ? merged.list('election') : [null]
  if (listen?.port === 0 || ops?.port === 0) {
    merged.fault(
      'port 0',
      'a sidecar that let the system choose its port cannot be found by it',
      'give --listen with the port that its log names',
    )
  }
  const own = read(merged)
  if (listen === null || merged.faults.length > 0) throw new ConfigError(merged.faults)
  return { target: { api: baseUrl(listen), probes: baseUrl(ops ?? listen), elections }, own }
}

/** What listens on every interface is asked over loopback. */
function baseUrl({ host, port }: Address): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`
  if (!isIPv6(host)) return `http://${host}:${port}`
  return `http://[${host === '::' ? '::1' : host}]:${port}`
}

/** `?election=NAME` and whatever else is asked. */
export function query(election: string | null, more: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams({ ...(election !== null && { election }), ...more })
  return parameters.size === 0 ? '' : `?${parameters}`
}
