/**
 * The history on PostgreSQL. Each request has a connection of its own, for a moment: what goes wrong here, or hangs,
 * touches no connection that a lease is renewed on.
 */
import pg from 'pg'
import type { Clock } from '../../clock/clock.ts'
import type { HistoryEntry, HistoryStore } from '../../election/history-store.ts'
import { recordsOf, type StoredTenure } from '../../election/history-view.ts'
import type { TenureRecord } from '../../election/status.ts'
import { Deadline } from '../deadline.ts'
import { type Attempt, StoreError } from '../store.ts'
import type { Connector } from './connect.ts'
import { isContention, translate } from './errors.ts'
import { historyGrantFor, ROLE } from './grants.ts'
import { begin, PRUNE, READ, TELL_BEFORE, TELL_OWN } from './history-statements.ts'
import type { Session } from './session.ts'

const LOCK_NOT_AVAILABLE = '55P03'
const STATEMENT_TIMEOUT = '57014'
const INSUFFICIENT_PRIVILEGE = '42501'
const UNDEFINED_TABLE = '42P01'

export class PostgresHistory implements HistoryStore {
  readonly #connector: Connector
  readonly #clock: Clock
  readonly #requests = new Set<Deadline>()
  #closed = false

  constructor(connector: Connector, clock: Clock) {
    this.#connector = connector
    this.#clock = clock
  }

  async write(election: string, entry: HistoryEntry, attempt: Attempt): Promise<'written' | 'contended'> {
    try {
      return await this.#transaction('READ WRITE', attempt, async (session, signal) => {
        const run = (sql: string, values: readonly unknown[]) => session.query(sql, values, signal)
        await run(TELL_OWN, ownValues(election, entry))
        const { before } = entry
        if (before !== null) {
          const { generation, holder, fromMs, untilMs, ended } = before
          await run(TELL_BEFORE, [election, generation, holder, fromMs, untilMs, ended])
          await run(PRUNE, [election])
        }
        return 'written' as const
      })
    } catch (error) {
      if (error instanceof StoreError && isContention(error.cause) && !isLocked(error.cause))
        return 'contended'
      throw error
    }
  }

  read(election: string, most: number, attempt: Attempt): Promise<readonly TenureRecord[]> {
    return this.#transaction('READ ONLY', attempt, async (session, signal) => {
      const rows = await session.query<StoredTenure & pg.QueryResultRow>(READ, [election, most], signal)
      return recordsOf(rows)
    })
  }

  /** Gives up what is under way. */
  close(): void {
    this.#closed = true
    for (const deadline of this.#requests) deadline.abort()
  }

  async #transaction<T>(
    access: 'READ WRITE' | 'READ ONLY',
    attempt: Attempt,
    work: (session: Session, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) throw new StoreError('unavailable', 'PostgreSQL: the store was closed', { cause: null })
    const deadline = new Deadline(this.#clock, attempt, 'PostgreSQL')
    this.#requests.add(deadline)
    let role = ROLE
    let session: Session | null = null
    try {
      const connected = await this.#connector.connect(deadline)
      session = connected.session
      role = connected.facts.role
      const { signal } = deadline
      await session.script(begin(access, deadline.remainingMs), signal)
      const result = await work(session, signal)
      await session.script('COMMIT', signal)
      const done = session
      done.end(this.#clock).catch(() => done.destroy())
      return result
    } catch (error) {
      session?.destroy()
      throw explain(error, role)
    } finally {
      deadline.close()
      this.#requests.delete(deadline)
    }
  }
}

function ownValues(election: string, entry: HistoryEntry): readonly unknown[] {
  const { generation, holder, writer, fromMs, untilMs, reason, leaderlessMs } = entry
  return [election, generation, holder, writer, fromMs, untilMs, reason, leaderlessMs]
}

function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** The whole table, that is: two writers of one row are done in no time. */
function isLocked(error: unknown): boolean {
  return codeOf(error) === LOCK_NOT_AVAILABLE
}

function explain(error: unknown, role: string): StoreError {
  const code = codeOf(error)
  if (code === INSUFFICIENT_PRIVILEGE) {
    const message = `PostgreSQL: ${(error as Error).message}: run ${historyGrantFor(role)}`
    return new StoreError('denied', message, { cause: error })
  }
  if (code === UNDEFINED_TABLE) {
    const message = `PostgreSQL: ${(error as Error).message}: run \`tenure migrate\`; where somebody dropped it, deploy/postgres/0005_history.sql and the GRANT in roles.sql`
    return new StoreError('schema', message, { cause: error })
  }
  if (code === LOCK_NOT_AVAILABLE || code === STATEMENT_TIMEOUT) {
    const message = `PostgreSQL: ${(error as Error).message}: another transaction keeps tenure.history locked`
    return new StoreError('unavailable', message, { cause: error })
  }
  return translate(error)
}
