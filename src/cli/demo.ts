/** `tenure demo`: why a lease alone is not enough, and what is, with real processes. */
import type { Flags, OwnFlag } from '../config/flags.ts'
import { Merged } from '../config/merge.ts'
import { ConfigError } from '../config/origin.ts'
import { DURATION } from '../config/value-type.ts'
import { type Command, type Io, ownValue } from './command.ts'
import { ACTOR_VARIABLE, isName } from './demo/messages.ts'
import { CommandError, EXIT } from './exit.ts'

/** To read one line; the whole story stays below twenty seconds. */
export const PAUSE_MS = 800
const PAUSE: OwnFlag<number> = {
  type: DURATION,
  help: 'time to read each line',
  defaultHelp: '800ms on a terminal, 0 elsewhere',
}

export const command: Command = {
  name: 'demo',
  usage: '[--pause DURATION]',
  about:
    'Tells the story of a leader that froze between its check and its write, with two processes of its own on the embedded store, in a temporary folder. Nothing is installed, asked or left behind. Exits with 1 if any step turns out otherwise than told.',
  settings: [],
  own: { pause: PAUSE },
  argumentsMost: 0,
  examples: ['tenure demo', 'tenure demo --pause 2s'],
  run,
}

async function run(flags: Flags, io: Io): Promise<number> {
  const actor = io.environment[ACTOR_VARIABLE]
  // The demo starts this same command for its actors.
  if (isName(actor)) return (await import('./demo/actor-process.ts')).runActor(actor, io.clock)
  const merged = new Merged([flags])
  const pauseMs = ownValue(PAUSE, 'pause', flags, merged)
  if (merged.faults.length > 0) throw new ConfigError(merged.faults)
  if (process.platform === 'win32') {
    throw new CommandError(
      EXIT.fault,
      'the demo stops a process with SIGSTOP, which Windows does not have: run it on Linux, on macOS or in WSL',
    )
  }
  const isTerminal = process.stdout.isTTY === true
  const { play } = await import('./demo/play.ts')
  return play({
    out: io.stdout,
    clock: io.clock,
    colour: isTerminal && io.environment.NO_COLOR === undefined,
    pauseMs: pauseMs ?? (isTerminal ? PAUSE_MS : 0),
  })
}
