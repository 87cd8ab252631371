/** Waits that end early when a signal says so, and leave nothing behind. */
import type { Clock } from '../clock/clock.ts'

/** Calls `act` once, at once where the signal is aborted already. Returns what takes it back. */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal === undefined) return () => {}
  if (signal.aborted) {
    act()
    return () => {}
  }
  signal.addEventListener('abort', act, { once: true })
  return () => signal.removeEventListener('abort', act)
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      forget()
      resolve()
    })
    const forget = onAbort(signal, () => {
      cancel()
      resolve()
    })
  })
}
