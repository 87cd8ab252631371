/** The story, told by actors in this process: true ones, and ones that do something else than it tells. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { StageActor } from '../../src/cli/demo/actor.ts'
import type { Cast, Decision, Name, Player } from '../../src/cli/demo/cast.ts'
import { ClockMover } from '../../src/cli/demo/hand-clock.ts'
import { Narrator } from '../../src/cli/demo/narrator.ts'
import { clockPath, createData, openData, readFleet } from '../../src/cli/demo/place.ts'
import { tellStory } from '../../src/cli/demo/story.ts'
import { PAUSE_MS } from '../../src/cli/demo.ts'
import { CommandError } from '../../src/cli/exit.ts'
import { ManualClock } from '../support/clock.ts'
import { type TempFolder, tempFolder } from '../support/temp.ts'

const TOLD_MOST_MS = 18_000

let folder: TempFolder
beforeEach(() => {
  folder = tempFolder()
})
afterEach(() => folder.remove())

/** What a stopped process is asked, it does when it goes on. */
class LocalPlayer implements Player {
  readonly #actor: StageActor
  #awake = Promise.withResolvers<void>()

  constructor(actor: StageActor) {
    this.#actor = actor
    this.#awake.resolve()
  }

  static async enter(name: Name): Promise<LocalPlayer> {
    return new LocalPlayer(await StageActor.enter(name, folder.path, new ManualClock()))
  }

  acquire: Player['acquire'] = () => this.#actor.acquire()
  check: Player['check'] = () => this.#actor.check()
  write: Player['write'] = async (decision) => {
    await this.#awake.promise
    return this.#actor.write(decision)
  }

  freeze: Player['freeze'] = async () => {
    this.#awake = Promise.withResolvers()
  }

  wake: Player['wake'] = () => this.#awake.resolve()
}

type Troupe = { -readonly [K in keyof Cast]: Cast[K] } & { a: LocalPlayer; b: LocalPlayer }

async function troupe(): Promise<Troupe> {
  const mover = new ClockMover(clockPath(folder.path))
  const data = openData(folder.path)
  createData(data)
  return {
    a: await LocalPlayer.enter('a'),
    b: await LocalPlayer.enter('b'),
    advance: (ms) => mover.advance(ms),
    fleet: () => readFleet(data),
  }
}

interface Heard {
  text: string
  pausedMs: number
}

async function tell(cast: Cast, colour = false): Promise<Heard> {
  const heard: Heard = { text: '', pausedMs: 0 }
  const clock = new ManualClock()
  clock.after = (delayMs, fire) => {
    heard.pausedMs += delayMs
    fire()
    return () => undefined
  }
  const out = {
    write: (text: string) => {
      heard.text += text
    },
  }
  await tellStory(cast, new Narrator({ out, clock, colour, pauseMs: PAUSE_MS }))
  return heard
}

test('on a terminal the pauses for reading leave the story below its twenty seconds', async () => {
  const { pausedMs, text } = await tell(await troupe())
  assert.ok(pausedMs > 0 && pausedMs <= TOLD_MOST_MS, `${pausedMs} ms`)
  assert.match(text, /docs\/fencing\.md/)
})

test('colour changes the look and not a word', async () => {
  const plain = await tell(await troupe())
  folder.remove()
  folder = tempFolder()
  const coloured = await tell(await troupe(), true)
  assert.notEqual(coloured.text, plain.text)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
  assert.equal(coloured.text.replaceAll(/\x1b\[\d+m/g, ''), plain.text)
})

/** What is otherwise than told, and the step that has to notice. */
const SABOTAGES: Readonly<Record<string, readonly [RegExp, (cast: Troupe) => void]>> = {
  'a fence that lets everything through': [
    /the fenced write of a gave \{"ok":true/,
    ({ a }) => {
      const { write } = a
      a.write = (decision: Decision) => write({ ...decision, fenced: false })
    },
  ],
  'a fence that refuses everything': [
    /the write of b gave \{"ok":false/,
    ({ b }) => {
      b.write = async () => ({ ok: false, reason: 'stale', current: null })
    },
  ],
  'a refusal that does not say who leads': [
    /the fenced write of a gave \{"ok":false,"reason":"stale","current":null\}/,
    ({ a }) => {
      const { write } = a
      a.write = async (decision: Decision) => {
        const written = await write(decision)
        return written.ok ? written : { ...written, current: null }
      }
    },
  ],
  'a leader that does not freeze': [
    /the data gave \{"size":8,"set_by":"b"\}/,
    ({ a }) => {
      a.freeze = async () => undefined
    },
  ],
  'a clock that stands still': [
    /b asking for the lease gave \{"kind":"refused","generation":1\}/,
    (cast) => {
      cast.advance = () => undefined
    },
  ],
  'a second leader beside the first': [
    /b asking for the lease gave \{"kind":"granted"/,
    (cast) => {
      const { b } = cast
      const { acquire } = b
      b.acquire = async () => {
        cast.advance(60_000)
        // The first only learns which generation stands.
        await acquire()
        return acquire()
      }
    },
  ],
  'an old leader that still answers yes': [
    /a asking whether it may act gave \{"leading":true/,
    ({ a }) => {
      const { check } = a
      let first: ReturnType<Player['check']> | undefined
      a.check = () => {
        first ??= check()
        return first
      }
    },
  ],
  'somebody else who writes': [
    /the data gave \{"size":0,"set_by":"c"\}/,
    (cast) => {
      cast.fleet = () => ({ size: 0, set_by: 'c' })
    },
  ],
}

for (const [what, [message, sabotage]] of Object.entries(SABOTAGES)) {
  test(`the story ends as a fault with ${what}`, async () => {
    const cast = await troupe()
    sabotage(cast)
    await assert.rejects(tell(cast), (error) => {
      assert.ok(error instanceof CommandError, String(error))
      assert.equal(error.code, 1)
      assert.match(error.message, /^the story turned out otherwise: /)
      assert.match(error.message, message)
      return true
    })
  })
}
