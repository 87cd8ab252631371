/** The label sets that exist from the start, so that a first event is an increase and not a new series. */
import type { Operation, Result } from '../election/monitor.ts'
import type { Reason, State } from '../election/status.ts'

/** Every transition that an election can make, by the state it leads to. */
export const TRANSITIONS: Readonly<Record<State, readonly Reason[]>> = {
  following: ['deadline', 'lost', 'resigned', 'drained', 'lapsed', 'unhealthy', 'fault'],
  leading: ['elected'],
  draining: ['resigned', 'drained', 'unhealthy', 'shutdown'],
  observing: ['fault'],
  stopped: ['shutdown', 'lapsed', 'lost', 'deadline'],
}

const UNANSWERED = ['timeout', 'aborted', 'error'] as const

/** Every way in which a store request can end. */
export const REQUEST_RESULTS: Readonly<Record<Operation, readonly Result[]>> = {
  acquire: ['granted', 'refused', 'contended', ...UNANSWERED],
  renew: ['granted', 'lost', 'contended', ...UNANSWERED],
  release: ['released', 'lost', 'contended', ...UNANSWERED],
  current: ['read', ...UNANSWERED],
}

/** From a local file to the longest attempt timeout, and beyond it. */
export const REQUEST_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Close together where little is left, for a ttl from 1 s to some minutes. */
export const SLACK_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 7.5, 10, 15, 30, 60]

/** From a hand-over that a wake-up sped up to one that took several ttl. */
export const LEADERLESS_BUCKETS_S = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300]
