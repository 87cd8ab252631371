/** `tenure drain`: makes this instance step down, and returns once it holds nothing any more. For hooks and scripts. */
import { type Clock, longestElapsedMs } from '../clock/clock.ts'
import type { Flags, OwnFlag } from '../config/flags.ts'
import { DURATION } from '../config/value-type.ts'
import { ANSWER_WITHIN_MS, ask, isRecord, NotNowError, notASidecar, request } from './client.ts'
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
/** A sidecar that cannot be reached this often in a row has ended. */
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
  const waiting: Waiting = { target, clock: io.clock, leftMs: countdown(own ?? TIMEOUT_MS, io.clock) }
  const elections = await electionsOf(waiting)
  const outcomes = await Promise.all(elections.map((election) => drainOne(waiting, election)))
  for (const { code, text } of outcomes) {
    if (code === EXIT.ok) io.stdout.write(`${text}\n`)
    else io.stderr.write(`tenure: ${text}\n`)
  }
  return Math.max(...outcomes.map(({ code }) => code))
}

/** What every question of one command shares. */
interface Waiting {
  readonly target: Target
  readonly clock: Clock
  readonly leftMs: () => number
}

async function drainOne(waiting: Waiting, election: string | null): Promise<Outcome> {
  try {
    const generation = await stepDown(waiting, election)
    if (generation !== null) return await waitUntilGone(waiting, election, generation)
    return { code: EXIT.ok, text: `${label(election)}did not lead here, and does not stand for a while` }
  } catch (error) {
    if (!(error instanceof NotNowError && error.timedOut)) throw error
    return mute(election)
  }
}

/** No question outlasts the command. One that is asked as the time is up still gets a moment. */
function answerWithin({ leftMs }: Waiting): number {
  return Math.min(ANSWER_WITHIN_MS, Math.max(leftMs(), GRACE_MS))
}

function countdown(ms: number, clock: Clock): () => number {
  const start = clock.now()
  return () => Math.max(0, ms - longestElapsedMs(start, clock.now()))
}

function label(election: string | null): string {
  return election === null ? '' : `${plain(election)}: `
}

/** Those that were named, else all that the sidecar runs; a single null where it does not say. */
async function electionsOf(waiting: Waiting): Promise<Target['elections']> {
  const { elections, probes } = waiting.target
  if (elections.some((election) => election !== null)) return elections
  try {
    const { body } = await request(`${probes}/readyz`, waiting.clock, { timeoutMs: answerWithin(waiting) })
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
async function stepDown(waiting: Waiting, election: string | null): Promise<number | null> {
  const url = `${waiting.target.api}/v1/resign${query(election)}`
  try {
    const call = { body: { holdOff: HOLD_OFF }, timeoutMs: answerWithin(waiting) }
    const body = await ask(url, waiting.clock, call)
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
  { target, clock, leftMs }: Waiting,
  election: string | null,
  generation: number,
): Promise<Outcome> {
  let last: Leadership | null = null
  let refusals = 0
  let silent = false
  for (;;) {
    const waitMs: number = last === null || silent ? 0 : Math.floor(Math.min(POLL_MS, leftMs()))
    const asked = query(election, { after: last?.revision ?? 'none', wait: `${waitMs}ms` })
    const url = `${target.api}/v1/leadership${asked}`
    const report: Leadership | Silence = await askLeadership(url, clock, {
      timeoutMs: waitMs + GRACE_MS,
    }).catch(asSilence)
    silent = typeof report === 'string'
    if (typeof report === 'string') {
      refusals = report === 'refused' ? refusals + 1 : 0
      if (refusals >= SILENCES_MOST) return ended(election, generation)
      if (leftMs() === 0) return mute(election)
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve))
      continue
    }
    refusals = 0
    if (last !== null && processOf(report) !== processOf(last)) return ended(election, generation)
    last = report
    if (report.draining?.generation !== generation) return gone(report, generation)
    if (leftMs() === 0) return timeIsUp(report, generation)
  }
}

/** A revision names the process start before its number: another start knows nothing of this drain. */
function processOf({ revision }: Leadership): string {
  return revision.slice(0, revision.lastIndexOf('-'))
}

/** Nobody there; or somebody who says nothing. */
type Silence = 'refused' | 'mute'

function asSilence(error: unknown): Silence {
  if (error instanceof NotNowError) return error.timedOut ? 'mute' : 'refused'
  throw error
}

function mute(election: string | null): Outcome {
  const text = `${label(election)}the time is up and the sidecar does not answer: it may be frozen, and still hold the lease until that runs out`
  return { code: EXIT.timeout, text }
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
