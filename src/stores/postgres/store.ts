import type { Clock } from '../../clock/clock.ts'
import { GENERATION_LIMIT, type TenureKey } from '../../election/tenure.ts'
import type {
  AcquireOptions,
  Attempt,
  Begun,
  Candidate,
  Contended,
  Granted,
  Hint,
  LeaseStore,
  LeaseView,
  Lost,
  Refused,
  Released,
  StoreContext,
  StoreSettings,
  Watch,
} from '../store.ts'
import { StoreError } from '../store.ts'
import { Connector } from './connect.ts'
import { Connections, type LeaseSession } from './connections.ts'
import { isContention } from './errors.ts'
import { PostgresHistory } from './history.ts'
import { Listener } from './listener.ts'
import { describeLocation, parseLocation } from './location.ts'
import { ElectionMemory, type Sighting } from './memory.ts'
import { notificationOf } from './notifications.ts'
import { passwordSource } from './password.ts'
import { ACQUIRE, CURRENT, RELEASE, RENEW, SEED } from './statements.ts'

/** Below this, one slow commit costs a tenure. */
const LEAST_TTL_MS = 3_000

const CONTENDED: Contended = { kind: 'contended' }
const LOST: Lost = { kind: 'lost' }

interface AcquireRow {
  readonly granted: string | null
  readonly leaderless_ms: string | null
  readonly begun: Begun | null
  readonly holder: string | null
  readonly session: string | null
  readonly generation: string
  readonly ttl_ms: number | null
  readonly mark: string
  readonly rewound: boolean
  readonly ahead: boolean
  readonly free: boolean
  readonly remaining_ms: string
}

interface CurrentRow {
  readonly holder: string | null
  readonly session: string | null
  readonly generation: string
  readonly expires_at: string | null
  readonly remaining_ms: string
}

/** Opens a store on PostgreSQL. Nothing is connected before the first request. */
export async function open(settings: StoreSettings, context: StoreContext): Promise<LeaseStore> {
  const location = parseLocation(settings.url, process.env)
  const connector = new Connector(location, passwordSource(location, settings, process.env), context.clock)
  return new PostgresStore(describeLocation(location), connector, context)
}

class PostgresStore implements LeaseStore {
  readonly kind = 'postgres'
  readonly location: string
  readonly leastTtlMs = LEAST_TTL_MS
  readonly history: PostgresHistory
  readonly #connections: Connections
  readonly #listener: Listener
  readonly #clock: Clock
  readonly #memories = new Map<string, ElectionMemory>()

  constructor(location: string, connector: Connector, context: StoreContext) {
    this.location = location
    this.#clock = context.clock
    this.#connections = new Connections(connector, context)
    this.#listener = new Listener(connector, context)
    this.history = new PostgresHistory(connector, context.clock)
  }

  acquire(
    election: string,
    candidate: Candidate,
    options: AcquireOptions,
    attempt: Attempt,
  ): Promise<Granted | Refused | Contended> {
    return this.#request(attempt, async (lent, signal) => {
      const ask = () => this.#ask(lent, signal, election, candidate, options, attempt)
      let row = await ask()
      if (row === undefined) {
        // The first acquire of an election anywhere, or somebody deleted its row.
        await lent.session.query(SEED, [election], signal)
        row = await ask()
      }
      return row === undefined ? CONTENDED : this.#judge(row, election, candidate, options)
    })
  }

  renew(tenure: TenureKey, ttlMs: number, attempt: Attempt): Promise<Granted | Lost | Contended> {
    const { election, session, generation } = tenure
    return this.#request(attempt, async (lent, signal) => {
      const timeoutMs = wholeMs(attempt)
      const [row] = await lent.session.query<{ live: boolean; renewed: boolean }>(
        RENEW,
        [election, session, generation, ttlMs, String(timeoutMs), timeoutMs],
        signal,
      )
      if (row === undefined || !row.live) return LOST
      return row.renewed ? { kind: 'granted', generation, leaderlessMs: null } : CONTENDED
    })
  }

  release(tenure: TenureKey, attempt: Attempt): Promise<Released | Lost | Contended> {
    const { election, session, generation } = tenure
    return this.#request(attempt, async (lent, signal) => {
      const [row] = await lent.session.query<{ at_ms: number | null }>(
        RELEASE,
        [election, session, generation, String(wholeMs(attempt)), notificationOf(election, generation)],
        signal,
      )
      if (row === undefined) return LOST
      return { kind: 'released', ...(row.at_ms !== null && { atMs: row.at_ms }) }
    })
  }

  current(election: string, attempt: Attempt): Promise<LeaseView | null> {
    return this.#connections.use(attempt, async (lent, signal) => {
      const [row] = await lent.session.query<CurrentRow & Record<string, unknown>>(
        CURRENT,
        [election],
        signal,
      )
      if (row === undefined) return null
      const generation = readGeneration(row.generation)
      this.#memory(election).sawGeneration(generation)
      // A row that was only seeded says nothing.
      if (generation === 0) return null
      const { holder, session, expires_at: expiresAt } = row
      return { holder, session, generation, expiresAt, remainingMs: Number(row.remaining_ms) }
    })
  }

  watch(election: string, wake: (hint: Hint) => void): Watch {
    return this.#listener.watch(election, wake)
  }

  async close(): Promise<void> {
    this.#listener.close()
    this.history.close()
    await this.#connections.close()
  }

  /** A request in which losing a race is a value. */
  #request<T>(
    attempt: Attempt,
    work: (lent: LeaseSession, signal: AbortSignal) => Promise<T>,
  ): Promise<T | Contended> {
    return this.#connections.use<T | Contended>(attempt, async (lent, signal) => {
      try {
        return await work(lent, signal)
      } catch (error) {
        if (isContention(error)) return CONTENDED
        throw error
      }
    })
  }

  async #ask(
    lent: LeaseSession,
    signal: AbortSignal,
    election: string,
    { identity, session }: Candidate,
    { ttlMs, above }: AcquireOptions,
    attempt: Attempt,
  ): Promise<AcquireRow | undefined> {
    const memory = this.#memory(election)
    const marks = memory.marks(ttlMs)
    const timeoutMs = wholeMs(attempt)
    const [row] = await lent.session.query<AcquireRow & Record<string, unknown>>(
      lent.tellsLineage ? ACQUIRE.withLineage : ACQUIRE.without,
      [
        election,
        identity,
        session,
        ttlMs,
        String(timeoutMs),
        above,
        timeoutMs,
        marks.ahead,
        memory.highestGeneration,
        marks.rewound,
      ],
      signal,
    )
    return row
  }

  #judge(
    row: AcquireRow,
    election: string,
    candidate: Candidate,
    { ttlMs, above }: AcquireOptions,
  ): Granted | Refused | Contended {
    const memory = this.#memory(election)
    if (row.granted !== null) {
      const generation = readGeneration(row.granted)
      memory.sawGeneration(generation)
      return {
        kind: 'granted',
        generation,
        leaderlessMs: row.leaderless_ms === null ? null : Number(row.leaderless_ms),
        ...(row.begun !== null && { begun: row.begun }),
      }
    }
    const { holder, session, mark, rewound, ahead, free, ttl_ms: rowTtlMs } = row
    const sighting: Sighting = { generation: readGeneration(row.generation), mark, rowTtlMs, rewound, ahead }
    memory.see(sighting)
    const { generation } = sighting
    // Free when the statement looked, and within reach, yet not granted: locked, overtaken, or too late.
    if (free && generation <= above) return CONTENDED
    const isOurs = session === candidate.session && !rewound
    const remainingMs = free || isOurs ? 0 : memory.worthAskingInMs(sighting, Number(row.remaining_ms), ttlMs)
    return { kind: 'refused', holder, session, generation, remainingMs }
  }

  #memory(election: string): ElectionMemory {
    const memory = this.#memories.get(election) ?? new ElectionMemory(this.#clock)
    this.#memories.set(election, memory)
    return memory
  }
}

/** The least that the server understands is a millisecond; 0 would mean "without end". */
function wholeMs({ timeoutMs }: Attempt): number {
  return Math.max(1, Math.floor(timeoutMs))
}

function readGeneration(text: string): number {
  const generation = Number(text)
  if (generation < GENERATION_LIMIT) return generation
  throw new StoreError(
    'misconfigured',
    `the table has generation ${text}, above the limit of ${GENERATION_LIMIT}`,
    {
      cause: null,
    },
  )
}
