import { takeOverSignals } from '../early-signals.ts'
import { EXIT } from '../exit.ts'
import { Narrator, type Telling } from './narrator.ts'
import { Stage } from './stage.ts'
import { tellStory } from './story.ts'

const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const
/** What a shell reports for a process that a signal ended, less the number of the signal. */
const BY_SIGNAL = 128

/**
 * Sets the stage, tells the story, and clears up, also where a signal ends it. Returns the exit code.
 *
 * @throws CommandError where a step turned out otherwise than told.
 */
export async function play(telling: Telling): Promise<number> {
  const interrupted = interruption()
  const stage = new Stage(telling.clock)
  try {
    return await Promise.race([tell(stage, new Narrator(telling)), interrupted])
  } finally {
    await stage.close()
  }
}

async function tell(stage: Stage, narrator: Narrator): Promise<number> {
  await stage.open()
  await tellStory(stage, narrator)
  return EXIT.ok
}

/** Resolves with the exit code once a signal asks for the end. */
function interruption(): Promise<number> {
  return new Promise((resolve) => {
    for (const [signal, number] of Object.entries(SIGNALS)) {
      process.on(signal, () => resolve(BY_SIGNAL + number))
    }
    takeOverSignals()
  })
}
