/**
 * The connections of one store: each serves one request at a time, idle ones are used again for a while, and
 * one whose request did not end well is never used again.
 */
import pg from 'pg'
import { type Clock, longestElapsedMs } from '../../clock/clock.ts'
import { Deadline } from '../deadline.ts'
import { type Attempt, type StoreContext, StoreError } from '../store.ts'
import type { Connector } from './connect.ts'
import { translate } from './errors.ts'
import { checkSchema } from './schema.ts'
import type { Facts, Session } from './session.ts'
import { READ_LINEAGE } from './statements.ts'

/** A connection is not used again after this time, so that a server that moved is found. */
const AGE_MOST_MS = 5 * 60 * 1_000
/** Idle connections kept; elections rarely renew at the same moment. */
const IDLE_MOST = 8

/** A connection that leases can be written on. */
export interface LeaseSession {
  readonly session: Session
  readonly facts: Facts
  /** Whether the server tells its system identifier and timeline to this role. */
  readonly tellsLineage: boolean
}

export class Connections {
  readonly #connector: Connector
  readonly #clock: Clock
  readonly #note: (message: string) => void
  readonly #idle: LeaseSession[] = []
  readonly #requests = new Set<Deadline>()
  #closed = false
  #noted = false

  constructor(connector: Connector, context: StoreContext) {
    this.#connector = connector
    this.#clock = context.clock
    this.#note = (message) => context.note(message)
  }

  /**
   * Lends a connection to `work` for one request, within the bounds of `attempt`.
   *
   * @throws StoreError
   */
  async use<T>(attempt: Attempt, work: (lent: LeaseSession, signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError('unavailable', 'PostgreSQL: the store was closed', { cause: null })
    const deadline = new Deadline(this.#clock, attempt, 'PostgreSQL')
    this.#requests.add(deadline)
    let lent: LeaseSession | null = null
    try {
      lent = this.#takeIdle() ?? (await this.#open(deadline))
      const result = await work(lent, deadline.signal)
      this.#giveBack(lent)
      return result
    } catch (error) {
      lent?.session.destroy()
      const translated = translate(error, lent?.facts ?? null)
      // The others are likely to have met the same fate, unseen as yet: a tenure must not pay for each of them.
      if (translated.kind === 'unavailable') this.#dropIdle()
      throw translated
    } finally {
      deadline.close()
      this.#requests.delete(deadline)
    }
  }

  /** Ends every connection, those that are busy or being made at once. */
  async close(): Promise<void> {
    this.#closed = true
    for (const deadline of this.#requests) deadline.abort()
    await Promise.all(this.#idle.splice(0).map(({ session }) => session.end(this.#clock)))
  }

  #takeIdle(): LeaseSession | null {
    for (let lent = this.#idle.pop(); lent !== undefined; lent = this.#idle.pop()) {
      if (lent.session.broken) continue
      if (longestElapsedMs(lent.session.openedAt, this.#clock.now()) < AGE_MOST_MS) return lent
      this.#dismiss(lent)
    }
    return null
  }

  #giveBack(lent: LeaseSession): void {
    if (lent.session.broken) return
    if (this.#closed || this.#idle.length >= IDLE_MOST) this.#dismiss(lent)
    else this.#idle.push(lent)
  }

  #dismiss({ session }: LeaseSession): void {
    session.end(this.#clock).catch(() => session.destroy())
  }

  #dropIdle(): void {
    for (const { session } of this.#idle.splice(0)) session.destroy()
  }

  async #open(deadline: Deadline): Promise<LeaseSession> {
    const { session, facts } = await this.#connector.connect(deadline)
    try {
      await checkSchema(session, facts, deadline.signal)
      return { session, facts, tellsLineage: await this.#tellsLineage(session, deadline.signal) }
    } catch (error) {
      session.destroy()
      throw error
    }
  }

  /** Asks once for each connection: managed services and tight rights differ. */
  async #tellsLineage(session: Session, signal: AbortSignal): Promise<boolean> {
    try {
      await session.query(READ_LINEAGE, [], signal)
      return true
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error
      if (!this.#noted) this.#note(withoutLineage(error.message))
      this.#noted = true
      return false
    }
  }
}

function withoutLineage(message: string): string {
  return `PostgreSQL does not tell its system identifier and timeline (${message}): a promotion or a restore that lost writes is noticed only where a generation went backwards`
}
