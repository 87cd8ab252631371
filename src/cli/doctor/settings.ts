/** The settings, which `tenure run` would refuse or take: every fault at once. */
import { formatDuration } from '../../config/duration.ts'
import { type Inputs, type LoadedConfig, loadConfig, mergeSources } from '../../config/load.ts'
import type { Merged } from '../../config/merge.ts'
import { ConfigError, type Fault } from '../../config/origin.ts'
import { storeLimits } from '../../config/store-limits.ts'
import { resolveStoreUrl } from '../../config/store-settings.ts'
import { readTiming, TIMING_SETTINGS } from '../../config/timing-settings.ts'
import { deriveTiming, type Timing } from '../../election/timing.ts'
import { advise, type Check, fault, ok, paste, type Remedy, warning } from './check.ts'

export interface Settings {
  /** Null where `run` would not start with them. */
  readonly config: LoadedConfig | null
  readonly checks: readonly Check[]
}

export async function examineSettings(inputs: Inputs): Promise<Settings> {
  try {
    const config = await loadConfig(inputs)
    const warnings = config.warnings.map((text) =>
      warning('settings', text, 'a setting that works may still be a risk', advise('see the sentence above')),
    )
    return { config, checks: [...warnings, ok('settings', 'they can be read'), timingHolds(config.timing)] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const timing = await brokenTiming(inputs)
    return { config: null, checks: error.faults.map((one) => checkOf(one, timing)) }
  }
}

function timingHolds({ ttlMs, marginMs, renewEveryMs, attemptTimeoutMs, backoffMs }: Timing): Check {
  const needMs = renewEveryMs + 2 * attemptTimeoutMs + backoffMs
  return ok(
    'timing',
    `renew-every ${renewEveryMs} + 2 × attempt-timeout ${attemptTimeoutMs} + backoff ${backoffMs} = ${needMs} ms ≤ ttl ${ttlMs} − margin ${marginMs} = ${ttlMs - marginMs} ms`,
  )
}

/** What is wrong with the timing, and the flags that put it right. */
interface BrokenTiming {
  readonly texts: ReadonlySet<string>
  readonly flags: string
}

async function brokenTiming(inputs: Inputs): Promise<BrokenTiming | null> {
  const merged = await mergeSources(inputs, true)
  resolveStoreUrl(merged)
  const url = merged.value('store')
  const before = merged.faults.length
  const timing = readTiming(merged, url)
  const limits = url === null ? null : storeLimits(url)
  if (timing === null || limits?.ok !== true) return null
  const { leastTtlMs, ttlStepMs } = limits.value
  const stepMs = ttlStepMs ?? 1
  const sound = deriveTiming({ ttlMs: Math.ceil(Math.max(timing.ttlMs, leastTtlMs) / stepMs) * stepMs })
  return { texts: new Set(merged.faults.slice(before).map(textOf)), flags: flagsFor(sound, merged) }
}

/** The ttl, and whatever else somebody set, as it follows from the ttl. */
function flagsFor(sound: Timing, merged: Merged): string {
  const parts = Object.entries(TIMING_SETTINGS) as [keyof Timing, (typeof TIMING_SETTINGS)[keyof Timing]][]
  return parts
    .filter(([part, name]) => part !== 'holdOffMs' && merged.isSet(name))
    .map(([part, name]) => `--${name} ${formatDuration(sound[part])}`)
    .join(' ')
}

function checkOf(one: Fault, timing: BrokenTiming | null): Check {
  const isTiming = timing?.texts.has(textOf(one)) === true
  const remedy = isTiming
    ? paste('flags', timing.flags, `${one.remedy}; what follows from the ttl always holds`)
    : remedyFor(one)
  return fault(isTiming ? 'timing' : 'settings', 'misconfigured', one.where, one.rule, remedy)
}

/** A variable that names nothing can be unset; what a wrong value was meant to be, nobody knows. */
function remedyFor({ where, rule, remedy }: Fault): Remedy {
  const variable = /^variable (TENURE_\w+)$/.exec(where)?.[1]
  if (variable === undefined || !rule.startsWith('there is no such setting')) return advise(remedy)
  return paste('shell', `unset ${variable}`, remedy)
}

function textOf({ where, rule }: Fault): string {
  return `${where}: ${rule}`
}
