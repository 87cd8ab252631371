/** What is measured of the process rather than of an election. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, type Registry } from 'prom-client'

/** How often the loop is looked at: often enough to see what would delay a renewal, at next to no cost. */
const LOOP_LOOK_EVERY_MS = 50
const NS_PER_S = 1e9

export interface Build {
  readonly version: string
  /** Kind of the store. */
  readonly store: string
}

/** Registers the process's gauges; returns what stops the measuring. */
export function registerProcess(registry: Registry, { version, store }: Build): () => void {
  const registers = [registry]
  new Gauge({
    name: 'tenure_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node', 'store'],
    registers,
  }).set({ version, node: process.version, store }, 1)
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  return registerLoopLag(registry)
}

function registerLoopLag(registry: Registry): () => void {
  const delays = monitorEventLoopDelay({ resolution: LOOP_LOOK_EVERY_MS })
  delays.enable()
  new Gauge({
    name: 'tenure_event_loop_lag_seconds',
    help: 'Longest that the event loop was late since the last scrape.',
    registers: [registry],
    collect() {
      // What the histogram holds is the time between two looks; only what exceeds the plan is lag.
      this.set(Math.max(0, delays.max / NS_PER_S - LOOP_LOOK_EVERY_MS / 1_000))
      delays.reset()
    },
  })
  return () => {
    delays.disable()
  }
}
