/** The part of the demo that runs in the processes it starts. */
import { rmSync } from 'node:fs'
import type { Clock } from '../../clock/clock.ts'
import { messageOf } from '../../config/text-file.ts'
import { CommandError, EXIT } from '../exit.ts'
import { StageActor } from './actor.ts'
import type { Name } from './cast.ts'
import { ACTOR_VARIABLE, type Reply, type Request } from './messages.ts'

/** Does what it is told, one thing after the other, until the demo is over. */
export async function runActor(name: Name, clock: Clock): Promise<number> {
  if (process.send === undefined) {
    throw new CommandError(
      EXIT.usage,
      `${ACTOR_VARIABLE} is for the processes that the demo starts itself: unset it`,
    )
  }
  const end = Promise.withResolvers<number>()
  const actor = new ActorProcess(name, clock)
  process.on('message', (message) => actor.take(message as Request))
  process.once('disconnect', () => {
    actor.clearUp()
    end.resolve(EXIT.ok)
  })
  return end.promise
}

class ActorProcess {
  readonly #name: Name
  readonly #clock: Clock
  #actor: StageActor | null = null
  #others: readonly number[] = []
  #folder: string | null = null
  #last: Promise<void> = Promise.resolve()

  constructor(name: Name, clock: Clock) {
    this.#name = name
    this.#clock = clock
  }

  take(request: Request): void {
    this.#last = this.#last.then(async () => send(await this.#answer(request)))
  }

  /** The demo has gone without a word. A stopped process cannot see that by itself: whoever runs ends the others. */
  clearUp(): void {
    for (const pid of this.#others) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has gone already.
      }
    }
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true })
  }

  async #answer(request: Request): Promise<Reply> {
    try {
      return { id: request.id, value: await this.#perform(request) }
    } catch (error) {
      return { id: request.id, error: messageOf(error) }
    }
  }

  async #perform(request: Request): Promise<unknown> {
    if (request.call === 'enter') {
      this.#others = request.others
      this.#folder = request.folder
      this.#actor = await StageActor.enter(this.#name, request.folder, this.#clock)
      return null
    }
    const actor = this.#actor
    if (actor === null) throw new Error(`${this.#name} has not entered yet`)
    switch (request.call) {
      case 'acquire':
        return actor.acquire()
      case 'check':
        return actor.check()
      case 'write':
        return actor.write(request.decision)
    }
  }
}

function send(reply: Reply): void {
  // Where the demo has gone meanwhile, `disconnect` follows.
  process.send?.(reply, () => undefined)
}
