/** A candidate of the production core on the Kubernetes store, in this process. */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../../src/clock/system-clock.ts'
import { Election } from '../../../src/election/election.ts'
import { monitors, type RequestReport } from '../../../src/election/monitor.ts'
import { deriveTiming } from '../../../src/election/timing.ts'
import type { LeaseStore } from '../../../src/stores/store.ts'

export interface Change {
  /** On this process's steady clock. */
  readonly atMs: number
  readonly to: string
  readonly reason: string
  readonly generation: number | null
}

export class Candidate {
  readonly election: Election
  readonly changes: Change[] = []
  readonly reports: RequestReport[] = []

  constructor(name: string, identity: string, store: LeaseStore, ttlMs: number) {
    const settings = {
      election: name,
      identity,
      session: randomUUID(),
      timing: deriveTiming({ ttlMs }),
      observer: false,
      drainMs: 0,
      generationFloor: 0,
    }
    const silent = monitors()
    const monitor = {
      ...silent,
      transition: ({ to, reason, generation }: Omit<Change, 'atMs'>) => {
        this.changes.push({ atMs: performance.now(), to, reason, generation })
      },
      request: (report: RequestReport) => {
        this.reports.push(report)
      },
    }
    this.election = new Election({ settings, store, clock: systemClock(), monitor })
    this.election.start()
  }

  get leads(): boolean {
    return this.election.status().leading
  }

  get generation(): number | null {
    return this.election.status().generation
  }

  /** When it last became the leader. */
  get ledSinceMs(): number {
    return this.changes.findLast(({ to }) => to === 'leading')?.atMs ?? Number.NaN
  }
}
