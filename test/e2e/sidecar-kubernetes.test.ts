import { startUnless } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { describeHandover } from './handover.ts'

const skip = skipReason()
const bench = await startUnless(skip)

describeHandover(
  'Kubernetes',
  async () => `kubernetes://${bench.namespace.name}`,
  { ttlMs: 3_000, wakeUpMs: 200, serverMs: 250, seenLateMs: 200 },
  { skip, environment: async () => ({ KUBECONFIG: await bench.namespace.kubeconfig(bench.account) }) },
)
