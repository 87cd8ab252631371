import assert from 'node:assert/strict'
import type { Environment } from '../../src/config/environment.ts'
import { readFlags } from '../../src/config/flags.ts'
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts'
import { ConfigError, type Fault } from '../../src/config/origin.ts'
import { SETTING_NAMES } from '../../src/config/settings.ts'
import type { Source } from '../../src/config/written.ts'

/** A command line of `tenure run`, split at spaces unless given as a list. */
export function runFlags(line: string | readonly string[]): Source {
  const argv = typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line
  return readFlags(argv, { command: 'run', settings: SETTING_NAMES, own: {}, argumentsMost: 0 })
}

export function load(
  line: string | readonly string[] = '',
  environment: Environment = {},
): Promise<LoadedConfig> {
  return loadConfig({ flags: runFlags(line), environment })
}

/** The faults of settings that must not load. */
export async function faultsOf(
  line: string | readonly string[],
  environment: Environment = {},
): Promise<readonly Fault[]> {
  try {
    await load(line, environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    for (const { where, rule, remedy } of error.faults) assert.ok(where && rule && remedy)
    return error.faults
  }
  assert.fail('these settings were accepted')
}

/** The only fault, as it is printed. */
export async function faultOf(
  line: string | readonly string[],
  environment: Environment = {},
): Promise<string> {
  const faults = await faultsOf(line, environment)
  assert.equal(faults.length, 1, JSON.stringify(faults))
  return new ConfigError(faults).message
}
