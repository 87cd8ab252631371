import type { Metrics } from '../metrics/metrics.ts'
import type { StoreError } from '../stores/store.ts'

/** Counts what fails in the store's history, and says once what somebody has to mend. */
export function historyFaults(
  metrics: Pick<Metrics, 'historyFailed'>,
  note: (detail: string) => void,
): (election: string, error: StoreError) => void {
  let said: string | null = null
  return (election, { kind, message }) => {
    metrics.historyFailed(election)
    if (kind === 'unavailable' || message === said) return
    said = message
    note(`the history is kept in the memory of this process only: ${message}`)
  }
}
