import type { Cancel, Clock } from '../../clock/clock.ts'
import type { Hint, Watch } from '../store.ts'

/** With what a follower takes to answer a hint, a release is taken up within half a second. */
const POLL_MS = 200

/** What a look at the file showed: `suspect`, the tenure of each election as text, or null when nothing changed. */
export type Look = (elections: ReadonlySet<string>) => 'suspect' | ReadonlyMap<string, string> | null

interface Watcher {
  readonly election: string
  readonly wake: (hint: Hint) => void
  /** The tenure that was seen last; null before. */
  tenure: string | null
}

/** All watches of one store: they share one poll, which stops with the last of them. */
export class Watchers {
  readonly #clock: Clock
  readonly #look: Look
  readonly #watchers = new Set<Watcher>()
  #cancel: Cancel | null = null

  constructor(clock: Clock, look: Look) {
    this.#clock = clock
    this.#look = look
  }

  add(election: string, wake: (hint: Hint) => void): Watch {
    const watcher: Watcher = { election, wake, tenure: null }
    this.#watchers.add(watcher)
    if (this.#cancel === null) this.#arm()
    return { close: () => this.#remove(watcher) }
  }

  close(): void {
    this.#watchers.clear()
    this.#disarm()
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.#watchers.size === 0) this.#disarm()
  }

  #arm(): void {
    this.#cancel = this.#clock.after(POLL_MS, () => this.#poll())
  }

  #disarm(): void {
    this.#cancel?.()
    this.#cancel = null
  }

  #poll(): void {
    this.#arm()
    const seen = this.#look(new Set([...this.#watchers].map((watcher) => watcher.election)))
    if (seen === null) return
    for (const watcher of [...this.#watchers]) {
      if (seen === 'suspect') watcher.wake('suspect')
      else this.#compare(watcher, seen.get(watcher.election) ?? '')
    }
  }

  /** A renewal is no news to anybody: only another tenure, or none, is. */
  #compare(watcher: Watcher, tenure: string): void {
    const known = watcher.tenure
    watcher.tenure = tenure
    if (known !== tenure) watcher.wake('changed')
  }
}
