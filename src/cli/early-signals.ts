/**
 * Process 1 has no default action for signals: until somebody listens, a TERM would be lost. Imported before
 * everything else; `run` takes over once there is something to end in order.
 */
const SIGNALS = { SIGTERM: 15, SIGINT: 2, SIGHUP: 1 } as const
/** What a shell reports for a process that a signal ended, less the number of the signal. */
const BY_SIGNAL = 128

const listeners = Object.entries(SIGNALS).map(([signal, number]) => {
  const end = (): never => process.exit(BY_SIGNAL + number)
  if (process.pid === 1) process.on(signal, end)
  return () => process.off(signal, end)
})

/** From here on somebody else listens. */
export function takeOverSignals(): void {
  for (const off of listeners) off()
}
