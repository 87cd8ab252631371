/** What happens to elections, counted as it happens. */
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Monitor, RequestReport } from '../election/monitor.ts'
import { STATES } from '../election/status.ts'
import type { Measured } from './gauges.ts'
import {
  LEADERLESS_BUCKETS_S,
  REQUEST_BUCKETS_S,
  REQUEST_RESULTS,
  SLACK_BUCKETS_S,
  TRANSITIONS,
} from './labels.ts'

const MS_PER_S = 1_000

/** Registers the counter of the history's failures, and returns what counts one. */
export function historyFailures(
  registry: Registry,
  elections: readonly Measured[],
): (election: string) => void {
  const counter = new Counter({
    name: 'tenure_history_failures_total',
    help: "Requests to the store's history that failed, and tenures that were dropped. No lease is concerned.",
    labelNames: ['election'],
    registers: [registry],
  })
  for (const { name } of elections) counter.inc({ election: name }, 0)
  return (election) => counter.inc({ election })
}

/** Registers the counters and histograms, and returns what feeds them. */
export function metricsMonitor(registry: Registry, elections: readonly Measured[]): Monitor {
  const counters = createCounters(registry)
  const histograms = createHistograms(registry)
  for (const { name } of elections) startCounters(counters, name)
  for (const { name } of elections) startHistograms(histograms, name)
  return {
    transition: ({ to, reason }, { election }) => counters.transitions.inc({ election, to, reason }),
    request: (report) => countRequest(report, counters, histograms),
    paused: (election, pauseMs) => {
      counters.pauses.inc({ election })
      counters.pauseSeconds.inc({ election }, Math.max(0, pauseMs) / MS_PER_S)
    },
    // The gauges show the holder; a delay of the candidacy and a defect are for the log.
    holder: () => undefined,
    damped: () => undefined,
    fault: () => undefined,
  }
}

type Counters = ReturnType<typeof createCounters>
type Histograms = ReturnType<typeof createHistograms>

function createCounters(registry: Registry) {
  const registers = [registry]
  return {
    transitions: new Counter({
      name: 'tenure_transitions_total',
      help: 'Changes of state or reason, by the state they led to and the reason.',
      labelNames: ['election', 'to', 'reason'],
      registers,
    }),
    requests: new Counter({
      name: 'tenure_store_requests_total',
      help: 'Store requests that have ended. The outcome of timeout, aborted and error is unknown.',
      labelNames: ['election', 'op', 'result'],
      registers,
    }),
    pauses: new Counter({
      name: 'tenure_pauses_total',
      help: 'Times that the process, or a clock, was found to have stood still.',
      labelNames: ['election'],
      registers,
    }),
    pauseSeconds: new Counter({
      name: 'tenure_pause_seconds_total',
      help: 'Time for which the process, or a clock, was found to have stood still.',
      labelNames: ['election'],
      registers,
    }),
  }
}

function createHistograms(registry: Registry) {
  const registers = [registry]
  return {
    duration: new Histogram({
      name: 'tenure_store_request_duration_seconds',
      help: 'From the sending of a store request to its end.',
      labelNames: ['election', 'op'],
      buckets: REQUEST_BUCKETS_S,
      registers,
    }),
    slack: new Histogram({
      name: 'tenure_renew_slack_seconds',
      help: 'What was left until the holder would have had to stop, at each renewal that succeeded.',
      labelNames: ['election'],
      buckets: SLACK_BUCKETS_S,
      registers,
    }),
    leaderless: new Histogram({
      name: 'tenure_leaderless_seconds',
      help: "How long nobody held the lease before this instance won it, on the store's clock.",
      labelNames: ['election'],
      buckets: LEADERLESS_BUCKETS_S,
      registers,
    }),
  }
}

function startCounters({ transitions, requests, pauses, pauseSeconds }: Counters, election: string): void {
  for (const to of STATES) {
    for (const reason of TRANSITIONS[to]) transitions.inc({ election, to, reason }, 0)
  }
  for (const [op, results] of Object.entries(REQUEST_RESULTS)) {
    for (const result of results) requests.inc({ election, op, result }, 0)
  }
  pauses.inc({ election }, 0)
  pauseSeconds.inc({ election }, 0)
}

function startHistograms({ duration, slack, leaderless }: Histograms, election: string): void {
  for (const op of Object.keys(REQUEST_RESULTS)) duration.zero({ election, op })
  slack.zero({ election })
  leaderless.zero({ election })
}

function countRequest(report: RequestReport, { requests }: Counters, histograms: Histograms): void {
  const { election, op, result, durationMs, slackMs, leaderlessMs } = report
  requests.inc({ election, op, result })
  histograms.duration.observe({ election, op }, durationMs / MS_PER_S)
  if (slackMs !== null) histograms.slack.observe({ election }, slackMs / MS_PER_S)
  if (leaderlessMs !== null) histograms.leaderless.observe({ election }, leaderlessMs / MS_PER_S)
}
