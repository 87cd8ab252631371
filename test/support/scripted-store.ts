import type { TenureKey } from '../../src/election/tenure.ts'
import type {
  AcquireOptions,
  Attempt,
  Candidate,
  Contended,
  Granted,
  Hint,
  LeaseStore,
  LeaseView,
  Lost,
  Refused,
  Released,
  Watch,
} from '../../src/stores/store.ts'

/** A request that waits for the test to answer it. */
export interface Asked {
  readonly op: 'acquire' | 'renew' | 'release' | 'current'
  readonly above: number | null
  readonly generation: number | null
  readonly timeoutMs: number
  readonly aborted: boolean
  answer(outcome: Granted | Refused | Contended | Lost | Released | LeaseView | null): Promise<void>
  fail(error: unknown): Promise<void>
}

export const granted = (generation: number, leaderlessMs: number | null = null): Granted => ({
  kind: 'granted',
  generation,
  leaderlessMs,
})
export const refused = (generation: number, remainingMs: number | null, session = 'another'): Refused => ({
  kind: 'refused',
  holder: session,
  session,
  generation,
  remainingMs,
})
export const free = (generation: number): Refused => ({
  kind: 'refused',
  holder: null,
  session: null,
  generation,
  remainingMs: 0,
})

/** Lets everything that is settled run through. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A store whose every answer the test gives by hand: for the moments that a real one cannot be made to show. */
export class ScriptedStore implements LeaseStore {
  readonly kind = 'scripted'
  readonly location = 'scripted'
  readonly leastTtlMs = 1
  readonly asked: Asked[] = []
  wake: (hint: Hint) => void = () => {}

  /** The request under way; fails when there is none. */
  get last(): Asked {
    const last = this.asked.at(-1)
    if (last === undefined) throw new Error('nothing was asked')
    return last
  }

  get ops(): readonly string[] {
    return this.asked.map(({ op }) => op)
  }

  acquire(_: string, __: Candidate, options: AcquireOptions, attempt: Attempt) {
    return this.#ask<Granted | Refused | Contended>('acquire', attempt, { above: options.above })
  }

  renew(tenure: TenureKey, _: number, attempt: Attempt) {
    return this.#ask<Granted | Lost | Contended>('renew', attempt, { generation: tenure.generation })
  }

  release(tenure: TenureKey, attempt: Attempt) {
    return this.#ask<Released | Lost | Contended>('release', attempt, { generation: tenure.generation })
  }

  current(_: string, attempt: Attempt) {
    return this.#ask<LeaseView | null>('current', attempt, {})
  }

  watch(_: string, wake: (hint: Hint) => void): Watch {
    this.wake = wake
    return { close: () => {} }
  }

  async close(): Promise<void> {}

  #ask<T>(op: Asked['op'], attempt: Attempt, about: { above?: number; generation?: number }): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.asked.push({
      op,
      above: about.above ?? null,
      generation: about.generation ?? null,
      timeoutMs: attempt.timeoutMs,
      get aborted() {
        return attempt.signal.aborted
      },
      answer: (outcome) => {
        resolve(outcome as T)
        return settled()
      },
      fail: (error) => {
        reject(error)
        return settled()
      },
    })
    return promise
  }
}
