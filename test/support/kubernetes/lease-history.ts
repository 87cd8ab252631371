/** Every version of one Lease, in order, as the API server tells it: what candidates did, whatever they say of it. */
import type { IncomingMessage } from 'node:http'
import { linesOf } from '../../../src/stores/kubernetes/lines.ts'
import type { Namespace, StoredLease } from './namespace.ts'

/** One write of somebody. */
export interface Version {
  /** When it was read here, on this process's steady clock. */
  readonly seenMs: number
  /** Empty when free. */
  readonly holder: string
  readonly transitions: number
  readonly durationMs: number
  /** By the writer's wall clock. */
  readonly acquiredAt: number
  readonly renewedAt: number
}

export class LeaseHistory {
  readonly versions: Version[] = []
  readonly #stream: IncomingMessage
  readonly #reading: Promise<void>
  #closed = false
  #fault: unknown = null

  private constructor(stream: IncomingMessage) {
    this.#stream = stream
    this.#reading = this.#read()
  }

  /** From now on; the Lease need not exist yet. */
  static async start(namespace: Namespace, name: string): Promise<LeaseHistory> {
    const query = new URLSearchParams({ watch: '1', fieldSelector: `metadata.name=${name}` })
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace.name}/leases?${query}`
    return new LeaseHistory(await namespace.server.stream(path))
  }

  /** Ends it. Rejects when it has missed anything. */
  async close(): Promise<void> {
    this.#closed = true
    this.#stream.destroy()
    await this.#reading
    if (this.#fault !== null) throw this.#fault
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    try {
      for await (const line of linesOf(this.#stream)) if (line !== '') this.#take(line)
      if (!this.#closed) throw new Error('the API server has ended the watch')
    } catch (error) {
      if (!this.#closed) this.#fault = error
    }
  }

  #take(line: string): void {
    const { type, object } = JSON.parse(line) as { type: string; object: StoredLease }
    if (type !== 'ADDED' && type !== 'MODIFIED') throw new Error(`the watch shows ${line}`)
    const { holderIdentity, leaseTransitions, leaseDurationSeconds, acquireTime, renewTime } = object.spec
    this.versions.push({
      seenMs: performance.now(),
      holder: holderIdentity ?? '',
      transitions: leaseTransitions ?? 0,
      durationMs: (leaseDurationSeconds ?? Number.NaN) * 1_000,
      acquiredAt: Date.parse(acquireTime ?? ''),
      renewedAt: Date.parse(renewTime ?? ''),
    })
  }
}
