import type { Clock } from '../clock/clock.ts'
import { type Attempt, StoreError } from './lease-store.ts'

/**
 * Asks a store, and waits no longer than this for the answer; what comes later is not listened to.
 *
 * @throws StoreError `unavailable` when the time is over.
 */
export function bounded<T>(
  clock: Clock,
  timeoutMs: number,
  ask: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => {
      reject(new StoreError('unavailable', `no answer within ${timeoutMs} ms`, { cause: null }))
      controller.abort()
    })
    ask({ timeoutMs, signal: controller.signal }).then(resolve, reject).finally(cancel)
  })
}
