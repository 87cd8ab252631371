/**
 * Which work runs under which tenure, and telling the sidecar when the last of it has ended.
 *
 * "Drained" allows a release at once, inside promises that were given. A call that timed out may still arrive, any time
 * later. So from the moment before it is sent this client takes no answer for that tenure as "leading", whatever
 * came of the call; and where the sidecar still says so, it did not arrive, and is sent again.
 */
import type { Fence } from '../fencing/fence.ts'
import { ask } from './ask.ts'
import type { Settings } from './options.ts'
import { pause } from './waiting.ts'

const ATTEMPTS = 3
const ATTEMPT_PAUSE_MS = 50

export class Drains {
  readonly #settings: Settings
  readonly #working = new Map<string, number>()
  #givenUp: Fence | null = null

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** Work begins under this tenure. */
  begin(fence: Fence): void {
    const key = keyOf(fence)
    this.#working.set(key, (this.#working.get(key) ?? 0) + 1)
  }

  /** Some work under this tenure has ended; when it was the last, the sidecar is told. Bounded; never rejects. */
  async finish(fence: Fence): Promise<void> {
    const key = keyOf(fence)
    const left = (this.#working.get(key) ?? 1) - 1
    if (left > 0) {
      this.#working.set(key, left)
      return
    }
    this.#working.delete(key)
    if (!this.isGivenUp(fence)) this.#givenUp = fence
    await this.tell(fence)
  }

  /** Whether the work under this tenure, or a later one of the same session, was declared ended. */
  isGivenUp({ election, session, generation }: Fence): boolean {
    const last = this.#givenUp
    return (
      last !== null && last.election === election && last.session === session && last.generation >= generation
    )
  }

  async tell({ election, generation }: Fence, signal?: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#settings
    const question = { path: '/v1/drained', query: { election }, body: { generation }, timeoutMs, signal }
    for (let attempt = 1; ; attempt++) {
      const reply = await ask(this.#settings, question)
      // 409: that generation is not held any more, which is as good.
      const settled = reply.answered ? reply.status < 500 : reply.reason === 'timeout'
      if (settled || attempt === ATTEMPTS || signal?.aborted) return
      await pause(clock, ATTEMPT_PAUSE_MS * attempt, signal)
    }
  }
}

function keyOf({ election, session, generation }: Fence): string {
  return `${session}/${generation} ${election}`
}
