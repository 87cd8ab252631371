/** A candidate made of client-go's own library: a process of its own, with the library's timing. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { requireBinary } from './binaries.ts'

export interface PeerSettings {
  readonly kubeconfig: string
  readonly namespace: string
  /** Of the Lease. */
  readonly name: string
  readonly identity: string
  /** Whole seconds; client-go's own are 15, 10 and 2. */
  readonly leaseSeconds: number
  readonly renewSeconds: number
  readonly retrySeconds: number
}

/** `leading` and `stopped` are its own; `holder` is whom it sees; `exit` comes last after SIGTERM. */
export interface PeerEvent {
  readonly event: 'leading' | 'stopped' | 'holder' | 'exit'
  readonly identity: string
  /** When it was read here, on this process's steady clock. */
  readonly atMs: number
}

export class Peer {
  readonly identity: string
  readonly events: PeerEvent[] = []
  readonly child: ChildProcess
  #complaints = ''

  constructor(settings: PeerSettings) {
    this.identity = settings.identity
    const { kubeconfig, namespace, name, identity, leaseSeconds, renewSeconds, retrySeconds } = settings
    this.child = spawn(
      requireBinary('leaderelection'),
      [
        `-kubeconfig=${kubeconfig}`,
        `-namespace=${namespace}`,
        `-name=${name}`,
        `-identity=${identity}`,
        `-lease=${leaseSeconds}s`,
        `-renew=${renewSeconds}s`,
        `-retry=${retrySeconds}s`,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const kill = () => this.child.kill('SIGKILL')
    process.once('exit', kill)
    this.child.once('exit', () => process.off('exit', kill))
    if (this.child.stdout !== null) {
      createInterface({ input: this.child.stdout }).on('line', (line) => {
        this.events.push({ ...(JSON.parse(line) as Omit<PeerEvent, 'atMs'>), atMs: performance.now() })
      })
    }
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.#complaints += chunk
    })
  }

  /** What client-go logged. */
  get complaints(): string {
    return this.#complaints
  }

  get leads(): boolean {
    return (
      this.events.findLast(({ event }) => event === 'leading' || event === 'stopped')?.event === 'leading'
    )
  }

  /** Whom it sees as the holder: a whole `holderIdentity`; null before it saw any. */
  get holder(): string | null {
    return this.events.findLast(({ event }) => event === 'holder')?.identity ?? null
  }

  /** SIGTERM: it releases and exits. SIGKILL: it does neither. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, 'exit')
    this.child.kill(signal)
    await ended
  }
}
