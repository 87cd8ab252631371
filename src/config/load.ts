import { hostname } from 'node:os'
import type { Timing } from '../election/timing.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { Merged } from './merge.ts'
import { ConfigError, DERIVED, type Origin } from './origin.ts'
import { SETTING_NAMES, type SettingName } from './settings.ts'
import { resolveStoreUrl } from './store-settings.ts'
import { messageOf, readTextFile } from './text-file.ts'
import { readTiming, timingWarnings } from './timing-settings.ts'
import { readValues, type Values } from './values.ts'
import type { Source } from './written.ts'

/** Where the API listens unless told otherwise. */
const API_PORT = 4040

export interface LoadedConfig {
  readonly values: Values
  readonly timing: Timing
  readonly origins: Readonly<Record<SettingName, Origin>>
  /** Whole sentences about settings that work but deserve a look. */
  readonly warnings: readonly string[]
}

/** What settings are read from. */
export interface Inputs {
  readonly flags: Source
  readonly environment: Environment
  /** Which settings matter to the command. */
  readonly scope?: readonly SettingName[]
}

/**
 * Loads everything that `run` needs: flag before variable before file before default.
 *
 * @throws ConfigError with every fault at once.
 */
export async function loadConfig(inputs: Inputs): Promise<LoadedConfig> {
  return (await loadWithSources(inputs)).config
}

/** As `loadConfig`, with what was merged, for showing it. */
export async function loadWithSources(inputs: Inputs): Promise<{ config: LoadedConfig; merged: Merged }> {
  const merged = await mergeSources(inputs, true)
  resolveIdentity(merged, inputs.environment)
  resolveStoreUrl(merged)
  const values = readValues(merged)
  const timing = readTiming(merged, merged.value('store'))
  if (values === null || timing === null || merged.faults.length > 0) throw new ConfigError(merged.faults)
  const config = { values, timing, origins: originsOf(merged), warnings: warningsOf(merged, timing) }
  return { config, merged }
}

/**
 * Merges flags, variables and file within a scope. With `strict` unknown variables are faults; without it a
 * command that only asks the sidecar is not stopped by settings that are none of its business.
 */
export async function mergeSources(inputs: Inputs, strict: boolean): Promise<Merged> {
  const { flags, environment, scope = SETTING_NAMES } = inputs
  const variables = readEnvironment(environment, scope, strict)
  const outer = new Merged([flags, variables])
  const path = outer.value('config')
  if (path === null) return outer
  return new Merged([flags, variables, await readFileSource(path, outer.origin('config'))])
}

async function readFileSource(path: string, origin: Origin | null): Promise<Source> {
  const { FILE_MOST_BYTES, readConfigFile } = await import('./file.ts')
  const written = new Map()
  try {
    return readConfigFile(path, readTextFile(path, FILE_MOST_BYTES))
  } catch (error) {
    const rule = `the file ${JSON.stringify(path)} cannot be read: ${messageOf(error)}`
    return {
      written,
      faults: [{ where: origin?.text ?? path, rule, remedy: 'correct the path or its rights' }],
    }
  }
}

function resolveIdentity(merged: Merged, environment: Environment): void {
  if (merged.isSet('identity')) return
  const podName = environment.POD_NAME
  const [text, from] =
    podName === undefined || podName === ''
      ? [hostLabel(merged), 'host name']
      : [podName, 'variable POD_NAME']
  merged.replace('identity', { text, origin: { kind: 'default', text: `default (${from})` } })
}

/** Two sidecars on one host differ by their port: a log in which a host yields to itself helps nobody. */
function hostLabel(merged: Merged): string {
  const port = merged.value('listen')?.port ?? API_PORT
  return port === API_PORT || port === 0 ? hostname() : `${hostname()}:${port}`
}

function originsOf(merged: Merged): Readonly<Record<SettingName, Origin>> {
  const entries = SETTING_NAMES.map((name) => [name, merged.origin(name) ?? DERIVED] as const)
  return Object.fromEntries(entries) as Record<SettingName, Origin>
}

function warningsOf(merged: Merged, timing: Timing): readonly string[] {
  const warnings = [...timingWarnings(timing, merged.value('store'))]
  if (merged.origin('store-password')?.kind === 'flag') {
    warnings.push(
      'The password on the command line can be read by other users of this host: use TENURE_STORE_PASSWORD_FILE.',
    )
  }
  return warnings
}
