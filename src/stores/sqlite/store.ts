/**
 * Leases in a SQLite file, for candidates of one host.
 *
 * Every request is one short synchronous call: while it runs, nothing else of this process does. What the file
 * forgets when it is replaced or restored, the open stores remember; a process that starts afterwards cannot.
 */
import { type Clock, longestElapsedMs } from '../../clock/clock.ts'
import { GENERATION_LIMIT, type TenureKey } from '../../election/tenure.ts'
import {
  type AcquireOptions,
  type Attempt,
  type Candidate,
  type Contended,
  type Granted,
  type Hint,
  type LeaseStore,
  type LeaseView,
  type Lost,
  type Refused,
  type Released,
  type StoreContext,
  StoreError,
  type StoreSettings,
  type Watch,
} from '../store.ts'
import { Connection, Replaced } from './connection.ts'
import { isBusy, isMoved, toStoreError } from './errors.ts'
import { freedMs, type Lent, predecessorOf, SqliteHistory } from './history.ts'
import { acquired, type BootTime, isLive, isNamed, released, renewed, standingOf, viewOf } from './lease.ts'
import { checkPlace, locate } from './location.ts'
import { Memory } from './memory.ts'
import type { Row } from './statements.ts'
import { Watchers } from './watch.ts'

const LEAST_TTL_MS = 1_000
/** A request that finds the file replaced starts again with the new one, this often. */
const REPLACED_TRIES = 3

const LOST: Lost = { kind: 'lost' }
const CONTENDED: Contended = { kind: 'contended' }

/** What a request answers, and the row that has to be written for the answer to be true. */
interface Step<T> {
  readonly answer: T
  readonly next: Row | null
}

/**
 * Opens the file of a `sqlite:` URL, and makes it where it is missing.
 *
 * @throws StoreError `misconfigured` where the path can never hold leases; whatever may pass, the requests say.
 */
export async function open(settings: StoreSettings, context: StoreContext): Promise<LeaseStore> {
  const path = locate(settings.url)
  checkPlace(path, context.note)
  const store = new SqliteStore(path, context.clock)
  store.prepare()
  return store
}

class SqliteStore implements LeaseStore {
  readonly kind = 'sqlite'
  readonly location: string
  readonly leastTtlMs = LEAST_TTL_MS
  readonly history: SqliteHistory
  readonly #clock: Clock
  readonly #memory: Memory
  readonly #watchers: Watchers
  #connection: Connection | null = null
  /** The file that was used last, open or not. */
  #known: string | null = null
  #closed = false

  constructor(path: string, clock: Clock) {
    this.location = path
    this.#clock = clock
    this.#memory = new Memory(clock)
    this.history = new SqliteHistory(path, (election, attempt, body) => this.#lend(election, attempt, body))
    this.#watchers = new Watchers(clock, (elections) => this.#look(elections))
  }

  /** Opens the file early, so that what can never work stops the start. */
  prepare(): void {
    try {
      this.#use(() => null)
    } catch (error) {
      const fault = toStoreError(error, this.location)
      if (fault.kind === 'misconfigured') throw fault
    }
  }

  async acquire(
    election: string,
    candidate: Candidate,
    options: AcquireOptions,
    attempt: Attempt,
  ): Promise<Granted | Refused | Contended> {
    return this.#request<Granted | Refused>(attempt, (isLate) =>
      this.#use((connection) => {
        const decide = (row: Row | null) => this.#stand(election, row, candidate, options, isLate)
        // Looked at beforehand: a candidate that is refused takes no lock that would be in a holder's way.
        const first = decide(this.#read(connection, election))
        return first.next === null ? first.answer : this.#change(connection, election, decide)
      }),
    )
  }

  async renew(tenure: TenureKey, ttlMs: number, attempt: Attempt): Promise<Granted | Lost | Contended> {
    const { election, generation, session } = tenure
    this.#memory.claim(election, generation)
    return this.#request<Granted | Lost>(attempt, (isLate) =>
      this.#use((connection) =>
        this.#change<Granted | Lost | Contended>(connection, election, (row) => {
          const time = this.#time()
          if (this.#memory.isOver(election, generation) || !isLive(row, session, generation, time)) {
            return { answer: LOST, next: null }
          }
          if (isLate()) return { answer: CONTENDED, next: null }
          return {
            answer: { kind: 'granted', generation, leaderlessMs: null },
            next: renewed(row, ttlMs, time),
          }
        }),
      ),
    )
  }

  async release(tenure: TenureKey, attempt: Attempt): Promise<Released | Lost | Contended> {
    const { election, generation, session } = tenure
    this.#memory.claim(election, generation)
    return this.#request<Released | Lost>(attempt, () =>
      this.#use((connection) =>
        this.#change<Released | Lost>(connection, election, (row) => {
          if (this.#memory.isOver(election, generation) || !isNamed(row, session, generation)) {
            return { answer: LOST, next: null }
          }
          const time = this.#time()
          const next = released(row, time)
          const atMs = freedMs(next, { time, dateMs: this.#clock.date() })
          return { answer: { kind: 'released', ...(atMs !== null && { atMs }) }, next }
        }),
      ),
    )
  }

  async current(election: string, attempt: Attempt): Promise<LeaseView | null> {
    this.#admit(attempt)
    try {
      const row = this.#use((connection) => this.#read(connection, election))
      return row === null ? null : viewOf(row, this.#time(), this.#clock.date())
    } catch (error) {
      throw toStoreError(error, this.location)
    }
  }

  watch(election: string, wake: (hint: Hint) => void): Watch {
    return this.#watchers.add(election, wake)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#watchers.close()
    this.#drop()
  }

  /** What an acquire comes to, given the row that stands. */
  #stand(
    election: string,
    row: Row | null,
    candidate: Candidate,
    { ttlMs, above }: AcquireOptions,
    isLate: () => boolean,
  ): Step<Granted | Refused | Contended> {
    const time = this.#time()
    const waitMs = this.#memory.waitMs(election, ttlMs)
    const standing = standingOf(row, candidate.session, time, this.#memory.unchangedMs(election))
    const stored = row?.generation ?? 0
    if (!standing.free || waitMs > 0 || stored > above) {
      const remainingMs = Math.max(waitMs, standing.free ? 0 : standing.remainingMs)
      const [holder, session] = [row?.holder ?? null, row?.session ?? null]
      return { answer: { kind: 'refused', holder, session, generation: stored, remainingMs }, next: null }
    }
    if (isLate()) return { answer: CONTENDED, next: null }
    const generation = this.#generationAfter(election, Math.max(stored, above))
    const dateMs = this.#clock.date()
    const begun = { fromMs: dateMs, before: predecessorOf(row, { time, dateMs }) }
    return {
      answer: { kind: 'granted', generation, leaderlessMs: standing.leaderlessMs, begun },
      next: acquired(row, candidate, generation, ttlMs, time),
    }
  }

  #generationAfter(election: string, least: number): number {
    const generation = Math.max(least, this.#memory.highest(election)) + 1
    if (generation < GENERATION_LIMIT) return generation
    throw new StoreError(
      'misconfigured',
      `election ${JSON.stringify(election)} has used up its generations: the next would be ${generation}, and they stay below 2^53; use another election name`,
      { cause: null },
    )
  }

  /** Reads the row, decides and writes, while nobody else can write. Remembers what was committed. */
  #change<T>(connection: Connection, election: string, decide: (row: Row | null) => Step<T>): T {
    const { answer, next } = connection.transaction(() => {
      const step = decide(this.#read(connection, election))
      if (step.next !== null) connection.write(election, step.next)
      return step
    })
    if (next !== null) this.#memory.see(election, next)
    return answer
  }

  #read(connection: Connection, election: string): Row | null {
    const row = connection.read(election)
    this.#memory.see(election, row)
    return row
  }

  /** Keeps the bounds of a request that may meet others, and makes its faults `StoreError`s. */
  #request<T>(attempt: Attempt, run: (isLate: () => boolean) => T | Contended): T | Contended {
    this.#admit(attempt)
    const startedAt = this.#clock.now()
    const isLate = () => longestElapsedMs(startedAt, this.#clock.now()) > attempt.timeoutMs
    try {
      return run(isLate)
    } catch (error) {
      if (isBusy(error)) return CONTENDED
      throw toStoreError(error, this.location)
    }
  }

  /** For the history. Its own faults leave the connection to the leases. */
  #lend<T>(election: string, attempt: Attempt, body: (lent: Lent) => T): T | Contended {
    const outcome = this.#request<{ readonly value: T } | { readonly error: unknown }>(attempt, () =>
      this.#use((connection) => {
        const lease = this.#read(connection, election)
        const [time, dateMs] = [this.#time(), this.#clock.date()]
        try {
          return { value: body({ connection, lease, time, dateMs }) }
        } catch (error) {
          if (isBusy(error) || isReplacement(error)) throw error
          return { error }
        }
      }),
    )
    if ('error' in outcome) throw toStoreError(outcome.error, this.location)
    return 'value' in outcome ? outcome.value : outcome
  }

  #admit(attempt: Attempt): void {
    if (this.#closed) throw this.#unavailable('the store is closed: open it anew', null)
    if (attempt.signal.aborted) {
      throw this.#unavailable('the request was given up before it began', attempt.signal.reason)
    }
  }

  /**
   * Runs `body` on the file that is at the path, both before and after it: what was written to a file that is no
   * longer there counts for nothing, and is done again on the one that is.
   */
  #use<T>(body: (connection: Connection) => T): T {
    for (let i = 0; i < REPLACED_TRIES; i++) {
      const connection = this.#connected()
      try {
        if (connection.isAtPath()) {
          connection.forgetPages()
          const result = body(connection)
          if (connection.isAtPath()) return result
        }
      } catch (error) {
        if (isBusy(error)) throw error
        this.#drop()
        if (!isReplacement(error)) throw error
      }
      this.#drop()
    }
    throw this.#unavailable(`${this.location} is being replaced over and over: leave it in place`, null)
  }

  #connected(): Connection {
    if (this.#connection !== null) return this.#connection
    const connection = Connection.open(this.location, () => this.#clock.uuid())
    if (this.#known !== null && this.#known !== connection.identity) this.#memory.contentLost()
    this.#known = connection.identity
    this.#connection = connection
    return connection
  }

  #drop(): void {
    this.#connection?.close()
    this.#connection = null
  }

  /** For the watch: looks at the rows if anybody else has written. Opens nothing; the requests do that. */
  #look(elections: ReadonlySet<string>): 'suspect' | ReadonlyMap<string, string> | null {
    const connection = this.#connection
    if (connection === null) return null
    try {
      if (!connection.isAtPath()) throw new Replaced(this.location)
      const version = connection.dataVersion()
      if (version === connection.watchedVersion) return null
      const rows = [...elections].map((election) => [election, connection.read(election)] as const)
      connection.watchedVersion = version
      // Each is looked at: what one of them has lost ends the tenures of all.
      const lost = rows.filter(([election, row]) => !this.#memory.see(election, row))
      if (lost.length > 0) return 'suspect'
      return new Map(rows.map(([election, row]) => [election, `${row?.generation} ${row?.session}`]))
    } catch (error) {
      if (isBusy(error)) return null
      // The holder has to ask, and learns from its request what is the matter.
      this.#drop()
      return 'suspect'
    }
  }

  #time(): BootTime {
    return { bootMs: this.#clock.now().bootMs, clockId: this.#clock.bootClockId }
  }

  #unavailable(message: string, cause: unknown): StoreError {
    return new StoreError('unavailable', message, { cause })
  }
}

function isReplacement(error: unknown): boolean {
  return error instanceof Replaced || isMoved(error)
}
