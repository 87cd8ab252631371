/** The store as a model: what design and the real stores say, in memory, under a clock of its own. */
import type { Granted, LeaseView, Lost, Refused, Released } from '../../src/stores/store.ts'
import type { World } from './world.ts'

/** How far a generation jumps where the server's lineage changed: more than were ever lost. */
const LINEAGE_JUMP = 2 ** 20
/** Promotions in a row, each of which forgot every write since, that a jump makes up for. */
const PROMOTIONS_MOST = 16

export interface Row {
  readonly holder: string | null
  readonly session: string | null
  readonly generation: number
  readonly expiresAt: number
  readonly renewedAt: number
  readonly endedAt: number | null
  readonly ttlMs: number
  readonly lineage: number
}

/** A write that took effect, for the checks. */
export interface Write {
  readonly op: 'grant' | 'renew' | 'release'
  readonly atMs: number
  readonly session: string
  readonly generation: number
  /** The row before it. */
  readonly before: Row
  readonly storeMs: number
}

const FREE: Row = {
  holder: null,
  session: null,
  generation: 0,
  expiresAt: Number.NEGATIVE_INFINITY,
  renewedAt: 0,
  endedAt: null,
  ttlMs: 0,
  lineage: 0,
}

export class LeaseServer {
  readonly #world: World
  readonly rate: number
  #readAtMs = 0
  #storeMs = 1_000_000
  #row: Row = FREE
  /** The last rows, newest last, for a rewind. */
  #log: Row[] = []
  #lineage = 0
  readonly writes: Write[] = []
  readonly onWrite: (write: Write) => void
  /** Called with each sessions's wish to be woken. */
  readonly wakers = new Set<() => void>()
  up = true
  readOnly = false

  constructor(world: World, rate: number, onWrite: (write: Write) => void) {
    this.#world = world
    this.rate = rate
    this.onWrite = onWrite
  }

  /** The store's own time. */
  nowMs(): number {
    this.#storeMs += (this.#world.nowMs - this.#readAtMs) * this.rate
    this.#readAtMs = this.#world.nowMs
    return this.#storeMs
  }

  get row(): Row {
    return this.#row
  }

  stepClock(ms: number): void {
    this.nowMs()
    this.#storeMs += ms
  }

  /** A promoted standby takes over, and the last writes never reached it. */
  rewind(writes: number): void {
    const kept = this.#log.slice(0, Math.max(1, this.#log.length - writes + 1))
    this.#row = kept.pop() ?? FREE
    this.#log = kept
    this.#lineage++
  }

  /** Changes with every write of a holder, and with the server: what was seen of another says nothing here. */
  #mark(): string {
    const { session, generation, renewedAt } = this.#row
    return `${session} ${generation} ${renewedAt} at ${this.#lineage}`
  }

  #write(op: Write['op'], session: string, row: Row): void {
    const before = this.#row
    this.#log = [...this.#log.slice(-8), before]
    this.#row = row
    const write = {
      op,
      atMs: this.#world.nowMs,
      session,
      generation: row.generation,
      before,
      storeMs: this.nowMs(),
    }
    this.writes.push(write)
    this.onWrite(write)
  }

  /** `observed`: the mark that the asker has seen unchanged for one whole ttl, or ''. `seen`: newest it ever saw. */
  acquire(
    who: { identity: string; session: string },
    options: { ttlMs: number; above: number; observed: string; seen: number },
  ): Granted | (Refused & { mark: string; ahead: boolean; ttlMs: number }) {
    const row = this.#row
    const now = this.nowMs()
    const moved = row.lineage !== this.#lineage || row.generation < options.seen
    const ahead = row.expiresAt > now + row.ttlMs
    const free = row.session === null || row.session === who.session || row.expiresAt <= now
    const grantable = this.#mark() === options.observed ? moved || ahead || free : !moved && free
    if (row.generation > options.above || !grantable) {
      const { holder, session, generation } = row
      const leftMs = free ? 0 : Math.max(0, row.expiresAt - now)
      const refused = { kind: 'refused', holder, session, generation, remainingMs: leftMs } as const
      return { ...refused, mark: this.#mark(), ahead: ahead || moved, ttlMs: row.ttlMs || options.ttlMs }
    }
    // Doubles with each promotion: the jump of an earlier one may have been forgotten, and built upon.
    const promotions = this.#lineage - row.lineage
    const jump = promotions === 0 ? 1 : LINEAGE_JUMP * (2 ** Math.min(promotions, PROMOTIONS_MOST) - 1)
    const generation = Math.max(row.generation, options.above) + jump
    const endedAt = row.endedAt ?? row.expiresAt
    this.#write('grant', who.session, {
      holder: who.identity,
      session: who.session,
      generation,
      expiresAt: now + options.ttlMs,
      renewedAt: now,
      endedAt: null,
      ttlMs: options.ttlMs,
      lineage: this.#lineage,
    })
    const leaderlessMs = Number.isFinite(endedAt) ? Math.max(0, now - endedAt) : null
    return { kind: 'granted', generation, leaderlessMs }
  }

  renew(key: { session: string; generation: number }, ttlMs: number): Granted | Lost {
    const row = this.#row
    const now = this.nowMs()
    const ours = row.session === key.session && row.generation === key.generation
    if (!ours || row.expiresAt <= now) return { kind: 'lost' }
    this.#write('renew', key.session, {
      ...row,
      expiresAt: now + ttlMs,
      renewedAt: now,
      ttlMs,
    })
    return { kind: 'granted', generation: row.generation, leaderlessMs: null }
  }

  release(key: { session: string; generation: number }): Released | Lost {
    const row = this.#row
    const ours = row.session === key.session && row.generation === key.generation
    if (!ours) return { kind: 'lost' }
    this.#write('release', key.session, {
      ...row,
      holder: null,
      session: null,
      expiresAt: Number.NEGATIVE_INFINITY,
      endedAt: Math.min(this.nowMs(), row.expiresAt),
    })
    for (const wake of this.wakers) wake()
    return { kind: 'released' }
  }

  current(): LeaseView | null {
    const { holder, session, generation, expiresAt } = this.#row
    if (generation === 0) return null
    const remainingMs = Math.max(0, expiresAt - this.nowMs())
    return {
      holder,
      session,
      generation,
      expiresAt: null,
      remainingMs: Number.isFinite(remainingMs) ? remainingMs : 0,
    }
  }
}
