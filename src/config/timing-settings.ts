import { checkTiming, deriveTiming, type Timing } from '../election/timing.ts'
import type { Merged } from './merge.ts'
import type { SettingName } from './settings.ts'
import { type StoreLimits, storeLimits } from './store-limits.ts'

/** Which setting says which part of the timing. */
export const TIMING_SETTINGS = {
  ttlMs: 'ttl',
  marginMs: 'margin',
  renewEveryMs: 'renew-every',
  attemptTimeoutMs: 'attempt-timeout',
  backoffMs: 'backoff',
  promiseMs: 'promise',
  holdOffMs: 'hold-off',
} as const satisfies Record<keyof Timing, SettingName>

/**
 * Derives the timing that was not set, and notes a fault for each inequality that it breaks. Null where a
 * part of it could not be read; `storeUrl` is null where the store could not.
 */
export function readTiming(merged: Merged, storeUrl: string | null): Timing | null {
  const limits = limitsOf(merged, storeUrl)
  const before = merged.faults.length
  const { ttlMs, ...rest } = readParts(merged)
  if (ttlMs === undefined || merged.faults.length > before) return null
  const timing = deriveTiming({ ttlMs, ...rest })
  for (const { rule, numbers, remedy } of checkTiming(timing, limits?.leastTtlMs ?? 0)) {
    merged.fault(whereSet(merged), `${rule} does not hold: ${numbers}`, remedy)
  }
  const stepMs = limits?.ttlStepMs ?? null
  if (stepMs !== null && ttlMs % stepMs !== 0) {
    merged.fault(
      whereSet(merged),
      `the ttl is a multiple of ${stepMs} ms on this store: it is ${ttlMs} ms`,
      'set --ttl to whole seconds',
    )
  }
  return timing
}

/** What is worth saying about a timing that is allowed. */
export function timingWarnings(timing: Timing, storeUrl: string | null): readonly string[] {
  const limits = storeUrl === null ? null : storeLimits(storeUrl)
  const belowMs = limits?.ok ? limits.value.warnBelowTtlMs : null
  if (belowMs === null || timing.ttlMs >= belowMs) return []
  return [
    `A ttl of ${timing.ttlMs} ms is short on this store: an API server that is busy for a few seconds costs the tenure; ${belowMs / 1_000}s or more is safer.`,
  ]
}

function readParts(merged: Merged): { readonly [K in keyof Timing]?: number | undefined } {
  const parts = Object.entries(TIMING_SETTINGS).map(([part, name]) => [part, merged.value(name) ?? undefined])
  return Object.fromEntries(parts)
}

function limitsOf(merged: Merged, storeUrl: string | null): StoreLimits | null {
  if (storeUrl === null) return null
  const limits = storeLimits(storeUrl)
  if (limits.ok) return limits.value
  merged.fault(merged.origin('store')?.text ?? 'store', limits.rule, limits.remedy)
  return null
}

/** The timing settings that somebody set, since any of them may be the one to change. */
function whereSet(merged: Merged): string {
  const set = Object.values(TIMING_SETTINGS).filter((name) => merged.isSet(name))
  return set.map((name) => merged.origin(name)?.text).join(', ') || 'timing'
}
