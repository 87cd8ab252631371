/** `tenure drain`: makes this instance step down, and returns once it holds nothing any more. For hooks and scripts. */
import { type Clock, longestElapsedMs } from '../clock/clock.ts'
import type { Flags, OwnFlag } from '../config/flags.ts'
import { DURATION } from '../config/value-type.ts'
import { ask, isRecord, NotNowError, notASidecar, request } from './client.ts'
import { type Command, type Io, ownValue } from './command.ts'
import { CommandError, EXIT } from './exit.ts'
import { askLeadership, type Leadership } from './leadership.ts'
import { query, readTarget, TARGET_SETTINGS, type Target } from './target.ts'
import { plain, span } from './text.ts'

const TIMEOUT_MS = 30_000
/** The longest that the API takes: whoever calls this stops the sidecar long before. */
const HOLD_OFF = '24h'
/** The longest single long poll. */
const POLL_MS = 30_000
/** A poll may be answered this much after its time. */
const GRACE_MS = 1_000
const PAUSE_MS = 200
/** A sidecar that does not answer this often in a row has ended. */
const SILENCES_MOST = 5
/** How a tenure ends whose lease is not given back. */
const NOT_GIVEN_BACK: readonly string[] = ['lapsed', 'deadline', 'fault']

const TIMEOUT: OwnFlag<number> = {
  type: DURATION,
  help: 'how long to wait until the lease is given back; 0 tells and does not wait',
  defaultHelp: '30s',
}

export const command: Command = {
  name: 'drain',
  usage: '[--election NAME] [--timeout DURATION]',
  about:
    'Makes this instance step down in every election of its sidecar, and waits until the lease is given back: the application has its drain time (tenure run --drain) to say "drained", then what was promised is kept. For a preStop hook and for scripts. Exits with 0 when nothing is held any more, and with 124 when the time is up, or when the lease was not given back and runs out by itself.',
  settings: [...TARGET_SETTINGS, 'ops-listen'],
  own: { timeout: TIMEOUT },
  argumentsMost: 0,
  examples: ['tenure drain', 'tenure drain --timeout 60s && systemctl stop fleet-manager'],
  run,
}

/** What became of one election, for people. */
interface Outcome {
  readonly code: number
  readonly text: string
}

async function run(flags: Flags, io: Io): Promise<number> {
  const { target, own } = await readTarget(flags, io, (merged) => ownValue(TIMEOUT, 'timeout', flags, merged))
  const elections = await electionsOf(target, io.clock)
  const told = await Promise.all(
    elections.map(async (election) => ({ election, generation: await stepDown(target, election, io.clock) })),
  )
  const leftMs = countdown(own ?? TIMEOUT_MS, io.clock)
  const outcomes = await Promise.all(
    told.map(({ election, generation }) =>
      generation === null
        ? { code: EXIT.ok, text: `${label(election)}did not lead here, and does not stand for a while` }
        : waitUntilGone(target, election, generation, leftMs, io.clock),
    ),
  )
  for (const { code, text } of outcomes) {
    if (code === EXIT.ok) io.stdout.write(`${text}\n`)
    else io.stderr.write(`tenure: ${text}\n`)
  }
  return Math.max(...outcomes.map(({ code }) => code))
}

function countdown(ms: number, clock: Clock): () => number {
  const start = clock.now()
  return () => Math.max(0, ms - longestElapsedMs(start, clock.now()))
}

function label(election: string | null): string {
  return election === null ? '' : `${plain(election)}: `
}

/** Those that were named, else all that the sidecar runs; a single null where it does not say. */
async function electionsOf({ elections, probes }: Target, clock: Clock): Promise<Target['elections']> {
  if (elections.some((election) => election !== null)) return elections
  try {
    const { body } = await request(`${probes}/readyz`, clock)
    const names = isRecord(body) && Array.isArray(body.checks) ? body.checks.map(electionOfCheck) : []
    return names.length > 1 && names.every((name) => name !== null) ? names : elections
  } catch (error) {
    // Probes may have a listener that nobody named here. The API itself says it better.
    if (error instanceof NotNowError) return elections
    throw error
  }
}

function electionOfCheck(check: unknown): string | null {
  const name = isRecord(check) ? check.name : null
  return typeof name === 'string' && name.startsWith('store:') ? name.slice('store:'.length) : null
}

/** Returns the generation that is being drained from now on; null where none was held. */
async function stepDown({ api }: Target, election: string | null, clock: Clock): Promise<number | null> {
  const url = `${api}/v1/resign${query(election)}`
  try {
    const body = await ask(url, clock, { body: { holdOff: HOLD_OFF } })
    if (!isRecord(body)) throw notASidecar(url)
    return typeof body.generation === 'number' ? body.generation : null
  } catch (error) {
    // An observer, or a sidecar that has stopped already: there is nothing to give back.
    if (error instanceof CommandError && error.code === EXIT.notLeading) return null
    throw error
  }
}

/** Follows reports, which promise nothing and do not count as the application asking. */
async function waitUntilGone(
  { api }: Target,
  election: string | null,
  generation: number,
  leftMs: () => number,
  clock: Clock,
): Promise<Outcome> {
  let revision = 'none'
  let silences = 0
  for (;;) {
    const atOnce = revision === 'none' || silences > 0
    const waitMs = atOnce ? 0 : Math.floor(Math.min(POLL_MS, leftMs()))
    const url = `${api}/v1/leadership${query(election, { after: revision, wait: `${waitMs}ms` })}`
    const report = await askLeadership(url, clock, { timeoutMs: waitMs + GRACE_MS }).catch(orSilence)
    if (report === null) {
      if (++silences >= SILENCES_MOST) return ended(election, generation)
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve))
      continue
    }
    silences = 0
    revision = report.revision
    if (report.draining?.generation !== generation) return gone(report, generation)
    if (leftMs() === 0) return timeIsUp(report, generation)
  }
}

function orSilence(error: unknown): null {
  if (error instanceof NotNowError) return null
  throw error
}

function ended(election: string | null, generation: number): Outcome {
  const text = `${label(election)}the sidecar ended before it said that generation ${generation} was given back; its log says how`
  return { code: EXIT.fault, text }
}

function gone({ election, reason, store }: Leadership, generation: number): Outcome {
  const what = `${label(election)}generation ${generation}`
  if (!NOT_GIVEN_BACK.includes(reason)) return { code: EXIT.ok, text: `${what} has ended (${reason})` }
  const why =
    store.error === null
      ? 'the application did not say "drained" within the drain time of the sidecar'
      : `the store did not take it: ${plain(store.error.message)}`
  return {
    code: EXIT.timeout,
    text: `${what} was not given back and runs out by itself (${reason}): ${why}`,
  }
}

function timeIsUp({ election, draining }: Leadership, generation: number): Outcome {
  const lasts = span(draining?.leaseRemainingMs ?? 0)
  const text = `${label(election)}the time is up and generation ${generation} is still held: the application has not said "drained"; its lease lasts ${lasts} more unless it is renewed`
  return { code: EXIT.timeout, text }
}
