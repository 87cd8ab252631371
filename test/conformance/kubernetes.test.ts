import { systemClock } from '../../src/clock/system-clock.ts'
import { kubeconfigSource } from '../../src/stores/kubernetes/kubeconfig.ts'
import { leaseName } from '../../src/stores/kubernetes/names.ts'
import { Observed } from '../../src/stores/kubernetes/observed.ts'
import { openPlace } from '../../src/stores/kubernetes/store.ts'
import { startApiServer } from '../support/kubernetes/api-server.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { Namespace } from '../support/kubernetes/namespace.ts'
import { ShiftedClock } from '../support/kubernetes/shifted-clock.ts'
import type { StoreHarness } from './harness.ts'
import { describeStore } from './suite.ts'

const LEAST_TTL_MS = 3_000
/** `leaseTransitions` is an int32. */
const GENERATION_LIMIT = 2 ** 31

/**
 * Expiry is judged by what each candidate has seen, and for how long. The suite moves the store's clock, so here
 * the stores share one clock that can be moved, and what they have seen: as if each had watched from the beginning.
 * Everything else is as in production.
 */
async function harness(): Promise<StoreHarness> {
  const server = await startApiServer()
  const namespace = await Namespace.create(server)
  const kubeconfig = await namespace.kubeconfig(await namespace.createAccount())
  const clock = new ShiftedClock(systemClock())
  const seen = new Map<string, Observed>()
  const sightings = (election: string) => {
    const observed = seen.get(election) ?? new Observed(clock)
    seen.set(election, observed)
    return observed
  }
  return {
    leastTtlMs: LEAST_TTL_MS,
    generationLimit: GENERATION_LIMIT,
    supportsWatch: true,
    open: async () => {
      const source = await kubeconfigSource([kubeconfig], null)
      return openPlace({ source, namespace: namespace.name }, { clock, note: () => undefined }, sightings)
    },
    forwardMs: async (ms) => clock.forward(ms),
    readRow: async (election) => {
      const lease = await namespace.lease(leaseName(election))
      return lease === null ? null : JSON.stringify(lease)
    },
    close: () => server.dispose(),
  }
}

describeStore('Kubernetes', harness, { skip: skipReason() })
