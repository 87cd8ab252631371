import type { Machine } from './machine.ts'
import { heldTenure } from './machine.ts'
import type { TenureRecord } from './status.ts'

/** How many tenures a process remembers. */
export const HISTORY_MOST = 100

/** The last tenures that this process saw, oldest first: its own exactly, others' as the store showed them. */
export class History {
  readonly #identity: string
  #tenures: readonly TenureRecord[] = []

  constructor(identity: string) {
    this.#identity = identity
  }

  get tenures(): readonly TenureRecord[] {
    return this.#tenures
  }

  /** Compares two machines, and takes note of tenures that began or ended between them. */
  note(before: Machine, after: Machine, leaderlessMs: number | null, dateMs: number): void {
    const held = heldTenure(after.phase)
    const had = heldTenure(before.phase)
    if (had !== null && held?.generation !== had.generation) {
      this.#end(had.generation, after.phase.reason, dateMs)
    }
    if (held !== null && had?.generation !== held.generation) {
      this.#begin({ holder: this.#identity, generation: held.generation, leaderlessMs }, dateMs)
    }
    if (held === null && after.seen !== before.seen) this.#noteSeen(after, dateMs)
  }

  #noteSeen(after: Machine, dateMs: number): void {
    const { seen, settings } = after
    const last = this.#tenures.at(-1)
    const live =
      seen !== null && seen.holder !== null && seen.remainingMs !== 0 && seen.session !== settings.session
    if (live && last?.generation !== seen.generation) {
      this.#begin({ holder: seen.holder ?? '', generation: seen.generation, leaderlessMs: null }, dateMs)
    } else if (!live && last !== undefined && last.untilMs === null) {
      this.#end(last.generation, 'seen', dateMs)
    }
  }

  #begin(tenure: Pick<TenureRecord, 'holder' | 'generation' | 'leaderlessMs'>, dateMs: number): void {
    const last = this.#tenures.at(-1)
    if (last !== undefined && last.untilMs === null) this.#end(last.generation, 'seen', dateMs)
    const record: TenureRecord = { ...tenure, fromMs: dateMs, untilMs: null, reason: null }
    this.#tenures = [...this.#tenures, record].slice(-HISTORY_MOST)
  }

  #end(generation: number, reason: TenureRecord['reason'], dateMs: number): void {
    this.#tenures = this.#tenures.map((record) =>
      record.generation === generation && record.untilMs === null
        ? { ...record, untilMs: dateMs, reason }
        : record,
    )
  }
}
