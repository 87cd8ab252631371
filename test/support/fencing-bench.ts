/** What tests of the guards share: a database with candidates and applications that log in as roles of their own. */
import assert from 'node:assert/strict'
import pg from 'pg'
import type { Fence } from '../../src/fencing/index.ts'
import { rolesScript } from '../../src/stores/postgres/grants.ts'
import type { Candidate, LeaseStore } from '../../src/stores/store.ts'
import type { PostgresOptions } from './postgres.ts'
import { attempt, newCandidate, newElection, PostgresBench, until, win } from './postgres-bench.ts'

const PREPARED = { max_prepared_transactions: '5' }

export class FencingBench {
  readonly postgres: PostgresBench
  /** Logs in as the role that may fence, and not touch the lease. */
  readonly applicationUrl: string
  /** Logs in as the role that may elect. */
  readonly candidateUrl: string
  readonly #clients: pg.Client[] = []

  private constructor(postgres: PostgresBench) {
    this.postgres = postgres
    this.applicationUrl = postgres.server.url(postgres.database, 'tenure_application')
    this.candidateUrl = postgres.server.url(postgres.database, 'tenure_candidate')
  }

  static async start(options: PostgresOptions = {}): Promise<FencingBench> {
    const settings = { ...PREPARED, ...options.settings }
    const postgres = await PostgresBench.start({ ...options, settings })
    await postgres.sql('CREATE ROLE tenure_candidate LOGIN; CREATE ROLE tenure_application LOGIN')
    await postgres.sql(rolesScript())
    await postgres.sql('GRANT CREATE ON SCHEMA public TO tenure_application')
    return new FencingBench(postgres)
  }

  /** A connection of the application, or of whom the URL names. */
  async connect(url = this.applicationUrl): Promise<pg.Client> {
    const client = new pg.Client(url)
    client.on('error', () => undefined)
    await client.connect()
    this.#clients.push(client)
    return client
  }

  /** A connection of the application inside a transaction. */
  async begin(how = 'BEGIN'): Promise<pg.Client> {
    const client = await this.connect()
    await client.query(how)
    return client
  }

  /** A tenure of a fresh election, held by `identity`. */
  async lead(identity = 'web-1', ttlMs = 10_000): Promise<Led> {
    const store = await this.postgres.open({ url: this.candidateUrl })
    const election = newElection()
    const tenure = await win(store, election, newCandidate(identity), { ttlMs })
    return new Led(this, store, tenure, ttlMs)
  }

  async closeAll(): Promise<void> {
    for (const client of this.#clients.splice(0)) client.connection.stream.destroy()
    await this.postgres.closeAll()
  }
}

/** A tenure and what may become of it. */
export class Led {
  readonly bench: FencingBench
  readonly store: LeaseStore
  readonly fence: Fence
  readonly ttlMs: number

  constructor(
    bench: FencingBench,
    store: LeaseStore,
    { election, session, generation }: Fence,
    ttlMs: number,
  ) {
    this.bench = bench
    this.store = store
    this.fence = { election, session, generation }
    this.ttlMs = ttlMs
  }

  /** Parameters of the guards. */
  get key(): [string, string, string] {
    return [this.fence.election, this.fence.session, String(this.fence.generation)]
  }

  get setting(): string {
    return `${this.fence.session}/${this.fence.generation}`
  }

  renew() {
    return this.store.renew(this.fence, this.ttlMs, attempt())
  }

  release() {
    return this.store.release(this.fence, attempt())
  }

  /** Lets the lease run out, as if nobody had renewed it for long. */
  async runOut(): Promise<void> {
    await this.bench.postgres.sql(
      `UPDATE tenure.lease SET expires_at = clock_timestamp() - interval '1 second' WHERE election = $1`,
      [this.fence.election],
    )
  }

  /** One attempt of somebody else. */
  contend(candidate: Candidate = newCandidate('web-2')) {
    return this.store.acquire(
      this.fence.election,
      candidate,
      { ttlMs: this.ttlMs, above: this.fence.generation },
      attempt(),
    )
  }

  /** Somebody else's tenure, as soon as the store grants one. */
  async takenOver(identity = 'web-2'): Promise<Led> {
    const candidate = newCandidate(identity)
    let generation = 0
    await until(`${identity} takes over`, async () => {
      const outcome = await this.contend(candidate)
      if (outcome.kind === 'granted') generation = outcome.generation
      return outcome.kind === 'granted'
    })
    const fence = { election: this.fence.election, session: candidate.session, generation }
    return new Led(this.bench, this.store, fence, this.ttlMs)
  }

  /** The lease runs out and somebody else takes over. */
  async deposed(): Promise<Led> {
    await this.runOut()
    return this.takenOver()
  }
}

/** Asserts that a statement fails with this SQLSTATE, and answers the error. */
export async function refusedWith(code: string, work: Promise<unknown>): Promise<pg.DatabaseError> {
  const outcome = await work.then(
    (value) => assert.fail(`did not fail: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  assert.ok(outcome instanceof pg.DatabaseError, String(outcome))
  assert.equal(outcome.code, code, outcome.message)
  return outcome
}
