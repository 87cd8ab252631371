import type { Fenced, Stale, Standing } from '../fence.ts'

/** SQLSTATE of every guard's refusal. */
export const STALE_SQLSTATE = 'TN001'

/** Errors may be wrapped in a circle. */
const CAUSES_MOST = 16

/**
 * What a guard's error says, for code that gets its errors from an ORM; null for any other error. Wrapped errors
 * are looked into, as far as they keep their cause.
 */
export function staleOf(error: unknown): Stale | null {
  let cause = error
  for (let depth = 0; depth < CAUSES_MOST && cause instanceof Error; depth++) {
    const { code, detail } = cause as { code?: unknown; detail?: unknown }
    if (code === STALE_SQLSTATE) return { ok: false, reason: 'stale', current: readStanding(detail) }
    cause = cause.cause
  }
  return null
}

/** The detail of a refusal is JSON: a generation and a holder, or null. */
function readStanding(detail: unknown): Standing | null {
  try {
    const { generation, holder } = JSON.parse(String(detail)) ?? {}
    return Number.isSafeInteger(generation) ? { generation, holder: holder ?? null } : null
  } catch {
    return null
  }
}

/** Makes a value of a guard's refusal. Any other error stays one. */
export async function catchStale<T>(work: () => Promise<Fenced<T>>): Promise<Fenced<T>> {
  try {
    return await work()
  } catch (error) {
    const stale = staleOf(error)
    if (stale === null) throw error
    return stale
  }
}
