/**
 * The story of the leader that froze between its check and its write. Each step looks at what really came of it, and
 * ends the story where that is not what it tells.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Contended, Granted, Refused } from '../../election/lease-store.ts'
import type { Fenced } from '../../fencing/fence.ts'
import { CommandError, EXIT } from '../exit.ts'
import { span } from '../text.ts'
import { ELECTION, TIMING } from './actor.ts'
import type { Actor, Cast, Decision, Name } from './cast.ts'
import type { Narrator } from './narrator.ts'
import { updateSql } from './place.ts'

/** What a decided before it froze, and what b decides after it. */
const OLD_SIZE = 3
const NEW_SIZE = 8
/** Past the ttl, and past the step of the boot clock that the store adds to it. */
const PAST_TTL_MS = TIMING.ttlMs + 1_000

/** A write that was ordered, and is still to come. An object, as a promise alone would be waited for. */
interface Late {
  readonly written: Promise<Fenced<number>>
}

/**
 * Tells it to its end.
 *
 * @throws CommandError where a step turns out otherwise.
 */
export async function tellStory(cast: Cast, narrator: Narrator): Promise<void> {
  narrator.text(
    'The frozen leader',
    '',
    `Two processes, a and b, stand for the election "${ELECTION}" on the embedded store. They, the store and the`,
    'signals are real; only their clock is moved by hand. The leader decides how many instances run: one row in a',
    'SQLite file of the application.',
  )
  await oneLeads(cast, narrator)
  const plain = await leaderFreezes(cast, narrator)
  await handsChange(cast, narrator)
  await plainWriteReplaces(cast, narrator, plain)
  await fencedWriteIsRefused(cast, narrator)
  await askingAgainIsRefused(cast, narrator)
  narrator.text(
    '',
    'A check before the write cannot prevent this: the pause may come after the check. The generation in the write',
    'itself can. What to do next: docs/fencing.md has the guards, for your database and your language.',
  )
}

async function oneLeads({ a, b }: Cast, narrator: Narrator): Promise<void> {
  narrator.scene('1  One leads')
  await acquire('a', a, { kind: 'granted', generation: 1 }, narrator)
  await acquire('b', b, { kind: 'refused', holder: 'a', generation: 1 }, narrator)
}

async function leaderFreezes({ a }: Cast, narrator: Narrator): Promise<Late> {
  narrator.scene('2  The leader freezes right after checking')
  const decision = { size: OLD_SIZE, fenced: false }
  await check('a', a, { leading: true, generation: 1, validForMs: TIMING.promiseMs }, narrator)
  await a.freeze()
  const late = ordered(a.write(decision))
  await narrator.tell('a', 'is stopped (SIGSTOP). Next in its program stands:', updateSql('a', decision))
  return late
}

async function handsChange(cast: Cast, narrator: Narrator): Promise<void> {
  narrator.scene('3  Hands change')
  cast.advance(PAST_TTL_MS)
  await narrator.tell('clock', `${span(PAST_TTL_MS)} go by: the lease has run out, and a cannot know`)
  await acquire('b', cast.b, { kind: 'granted', generation: 2 }, narrator)
  const answer = { leading: true, generation: 2, validForMs: TIMING.promiseMs }
  await check('b', cast.b, answer, narrator)
  await decide(cast, 'writes', narrator)
}

async function plainWriteReplaces(cast: Cast, narrator: Narrator, late: Late): Promise<void> {
  narrator.scene('4  The old leader wakes, and writes without a fence')
  cast.a.wake()
  const written = await late.written
  expect('the plain write of a', written, { ok: true, value: 1 })
  await narrator.tell('a', 'goes on (SIGCONT), right where it stood: 1 row written')
  await showFleet(cast, 'a', OLD_SIZE, "b's decision is gone, and nobody was told", narrator)
}

async function fencedWriteIsRefused(cast: Cast, narrator: Narrator): Promise<void> {
  narrator.scene('5  The same once more, with the fence')
  const { a } = cast
  await a.freeze()
  const decision = { size: OLD_SIZE, fenced: true }
  const late = ordered(a.write(decision))
  await narrator.tell(
    'a',
    'is stopped, still believing the answer of before. Next in its program stands:',
    'BEGIN IMMEDIATE',
    `the lease must name a's session and generation 1, or ROLLBACK`,
    updateSql('a', decision),
    'COMMIT',
  )
  await decide(cast, 'repairs its decision', narrator)
  a.wake()
  const refused = await late.written
  expect('the fenced write of a', refused, {
    ok: false,
    reason: 'stale',
    current: { generation: 2, holder: 'b' },
  })
  await narrator.tell(
    'a',
    'goes on, and is refused; the answer names who leads now:',
    JSON.stringify(refused),
  )
  await showFleet(cast, 'b', NEW_SIZE, "b's decision stands", narrator)
}

async function askingAgainIsRefused({ a }: Cast, narrator: Narrator): Promise<void> {
  narrator.scene('6  The old leader asks again')
  await check('a', a, { leading: false, generation: null, validForMs: 0 }, narrator)
  await acquire('a', a, { kind: 'refused', holder: 'b', generation: 2 }, narrator)
}

async function acquire(name: Name, actor: Actor, expected: object, narrator: Narrator): Promise<void> {
  const result = await actor.acquire()
  const told = Object.entries(result).filter(([field]) => field in expected)
  expect(`${name} asking for the lease`, Object.fromEntries(told), expected)
  await narrator.tell(name, `asks for the lease: ${describe(result)}`)
}

function describe(result: Granted | Refused | Contended): string {
  if (result.kind === 'granted') return `granted, generation ${result.generation}, for ${span(TIMING.ttlMs)}`
  if (result.kind === 'contended') return 'somebody was in the way'
  const { holder, generation, remainingMs } = result
  return `refused, ${holder} leads under generation ${generation}, for another ${span(remainingMs ?? 0)}`
}

async function check(name: Name, actor: Actor, expected: object, narrator: Narrator): Promise<void> {
  const answer = await actor.check()
  expect(`${name} asking whether it may act`, answer, expected)
  await narrator.tell(name, 'asks whether it may act:', JSON.stringify(answer))
}

/** b, who leads, writes what it decided. */
async function decide(cast: Cast, does: string, narrator: Narrator): Promise<void> {
  const decision: Decision = { size: NEW_SIZE, fenced: true }
  expect('the write of b', await cast.b.write(decision), { ok: true, value: 1 })
  await narrator.tell('b', `${does} under generation 2:`, updateSql('b', decision))
  await showFleet(cast, 'b', NEW_SIZE, '', narrator)
}

async function showFleet(cast: Cast, by: Name, size: number, so: string, narrator: Narrator): Promise<void> {
  const fleet = cast.fleet()
  expect('the data', fleet, { size, set_by: by })
  await narrator.tell('data', `${JSON.stringify(fleet)}  ${so}`.trimEnd())
}

function ordered(written: Promise<Fenced<number>>): Late {
  // Should the story end before it is awaited, its failure is nobody's.
  written.catch(() => undefined)
  return { written }
}

function expect(step: string, actual: object, expected: object): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new CommandError(
    EXIT.fault,
    `the story turned out otherwise: ${step} gave ${JSON.stringify(actual)}, and not ${JSON.stringify(expected)}; this is a defect, please report it`,
  )
}
