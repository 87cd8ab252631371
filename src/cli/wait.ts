/** `tenure wait`: returns when this instance leads, or is ready to. */
import { longestElapsedMs } from '../clock/clock.ts'
import type { Flags, OwnFlag } from '../config/flags.ts'
import { DURATION, SWITCH } from '../config/value-type.ts'
import { ANSWER_WITHIN_MS, NotNowError, request } from './client.ts'
import { type Command, type Io, isOn, ownValue } from './command.ts'
import { EXIT } from './exit.ts'
import { askLeadership } from './leadership.ts'
import { query, readTarget, TARGET_SETTINGS, type Target } from './target.ts'

/** The longest single long poll. */
const POLL_MS = 30_000
/** Between two questions that brought nothing, so that waiting never becomes a busy loop. */
const PAUSE_MS = 200
/** A poll may be answered this much after its time. */
const GRACE_MS = 1_000

const TIMEOUT: OwnFlag<number> = {
  type: DURATION,
  help: 'how long to wait; 0 asks once',
  defaultHelp: 'without end',
}
const switchFlag = (help: string): OwnFlag<boolean> => ({ type: SWITCH, help, defaultHelp: '' })

export const command: Command = {
  name: 'wait',
  usage: '--leader|--ready [--timeout DURATION]',
  about:
    'Waits until this instance leads, or until the sidecar is able to contend; also for a sidecar that has not started yet. Exits with 0 then, and with 124 when the time is up.',
  settings: [...TARGET_SETTINGS, 'ops-listen'],
  own: {
    leader: switchFlag('until this instance leads'),
    ready: switchFlag('until the sidecar is ready to contend'),
    timeout: TIMEOUT,
  },
  argumentsMost: 0,
  examples: ['tenure wait --ready --timeout 60s', 'tenure wait --leader && ./nightly-report'],
  run,
}

/** What a question brought: done, or what is still in the way. */
type Outcome = { readonly done: true } | { readonly done: false; readonly because: string }
type Question = (leftMs: number) => Promise<Outcome>

async function run(flags: Flags, io: Io): Promise<number> {
  const forLeader = isOn('leader', flags)
  const { target, own: timeoutMs } = await readTarget(flags, io, (merged) => {
    if (forLeader === isOn('ready', flags)) {
      merged.fault('wait', 'it waits for one thing', 'give either --leader or --ready')
    }
    if (forLeader && merged.list('election').length > 1) {
      merged.fault('--election', 'it waits for one election', 'name one with --election')
    }
    return ownValue(TIMEOUT, 'timeout', flags, merged)
  })
  const question = forLeader ? leaderQuestion(target, io) : readyQuestion(target, io)
  return waitFor(question, timeoutMs ?? Number.POSITIVE_INFINITY, io)
}

async function waitFor(question: Question, timeoutMs: number, io: Io): Promise<number> {
  const { clock } = io
  const start = clock.now()
  for (;;) {
    const leftMs = timeoutMs - longestElapsedMs(start, clock.now())
    const outcome = await question(Math.max(0, leftMs))
    if (outcome.done) return EXIT.ok
    if (timeoutMs - longestElapsedMs(start, clock.now()) <= PAUSE_MS) {
      io.stderr.write(`tenure: the time is up: ${outcome.because}\n`)
      return EXIT.timeout
    }
    await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve))
  }
}

/** A sidecar that does not answer may still start, or recover. */
async function orNotNow(question: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await question()
  } catch (error) {
    if (error instanceof NotNowError) return { done: false, because: error.message }
    throw error
  }
}

/** A long poll tells when to ask; only the plain question, with its promise, says that this instance leads. */
function leaderQuestion({ api, elections }: Target, { clock }: Io): Question {
  const election = elections[0] ?? null
  let revision = 'none'
  return (leftMs) =>
    orNotNow(async () => {
      const waitMs = Math.floor(Math.min(POLL_MS, leftMs))
      const poll = `${api}/v1/leadership${query(election, { after: revision, wait: `${waitMs}ms` })}`
      const hint = await askLeadership(poll, clock, { timeoutMs: waitMs + GRACE_MS })
      revision = hint.revision
      const { state, reason } = hint
      const because = `this instance is ${state} (${reason})`
      if (!hint.leading) return { done: false, because }
      const { leading } = await askLeadership(`${api}/v1/leadership${query(election)}`, clock)
      return leading ? { done: true } : { done: false, because }
    })
}

function readyQuestion({ probes }: Target, { clock }: Io): Question {
  return (leftMs) =>
    orNotNow(async () => {
      const timeoutMs = Math.min(ANSWER_WITHIN_MS, Math.max(PAUSE_MS, leftMs))
      const { status } = await request(`${probes}/readyz`, clock, { timeoutMs })
      if (status === 200) return { done: true }
      const hint =
        status === 404 ? '; where probes have a listener of their own, name it with --ops-listen' : ''
      return { done: false, because: `${probes}/readyz answers ${status}${hint}` }
    })
}
