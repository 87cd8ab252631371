/**
 * Contenders for one election, each of which writes for as long as it *believes* that it leads: it keeps no margin
 * and notices nothing, so that what its writes do depends on the guard alone. Every takeover and every write is
 * recorded with its transaction, and the server's commit timestamps say afterwards which came first.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Fence } from '../../src/fencing/index.ts'
import { open } from '../../src/stores/postgres/store.ts'
import type { LeaseStore } from '../../src/stores/store.ts'
import { Random } from '../simulation/random.ts'
import type { FencingBench } from './fencing-bench.ts'
import { attempt, newCandidate, settingsFor } from './postgres-bench.ts'

export const CONTENDERS = 12
export const TTL_MS = 80
const SLOW_SHARE = 0.25
/** Nearly a ttl: begun late in a tenure, it ends after it. */
const SLOW_MS = [40, 70] as const
/** How long a contender believes after its last grant or renewal. */
const BELIEVES_MS = 2 * TTL_MS
const ASK_EVERY_MS = 15

/** Writes one row to `contest.write` under a fence, pausing between the check and the write. False: refused. */
export type Write = (connection: pg.Client, fence: Fence, pauseMs: number, form: string) => Promise<boolean>

export interface Tally {
  readonly tenures: number
  readonly commits: number
  /** Committed after the takeover by a later generation had committed. */
  readonly stale: number
  refused: number
  /** Ended by the server or in contention: wrote nothing. */
  failed: number
}

export async function prepareContest(bench: FencingBench): Promise<void> {
  await bench.postgres.sql(`
    CREATE SCHEMA contest;
    CREATE TABLE contest.takeover (election text, generation bigint, transaction xid DEFAULT pg_current_xact_id()::xid);
    CREATE TABLE contest.write (form text, generation bigint, transaction xid DEFAULT pg_current_xact_id()::xid);
    CREATE TABLE contest.guarded (LIKE contest.write INCLUDING ALL);
    CREATE FUNCTION contest.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
      $$BEGIN INSERT INTO contest.takeover VALUES (NEW.election, NEW.generation); RETURN NEW; END$$;
    CREATE TRIGGER note AFTER UPDATE ON tenure.lease FOR EACH ROW
      WHEN (NEW.generation > OLD.generation) EXECUTE FUNCTION contest.note();
    GRANT USAGE ON SCHEMA contest TO tenure_application;
    GRANT INSERT ON contest.write, contest.guarded TO tenure_application`)
}

/** Runs one form of writing for a while. `url`: what the writers log in with. */
export async function contest(
  bench: FencingBench,
  { form, write, url, seed, forMs }: { form: string; write: Write; url: string; seed: number; forMs: number },
): Promise<Tally> {
  const until = performance.now() + forMs
  const tally = { refused: 0, failed: 0 }
  const contender = async (index: number) => {
    const random = new Random(seed + index)
    // Its own: what the bench opens, it closes after each test, also while another one runs beside it.
    const store = await open(settingsFor(bench.candidateUrl), bench.postgres.context())
    await new Contender(store, { form, write, url, random, tally, until }).run()
    await store.close()
  }
  await Promise.all(Array.from({ length: CONTENDERS }, (_, i) => contender(i)))
  const [counts] = await bench.postgres.sql<{ tenures: number; commits: number; stale: number }>(
    `SELECT (SELECT count(*)::integer FROM contest.takeover WHERE election = $1) AS tenures,
      count(*)::integer AS commits,
      count(*) FILTER (WHERE EXISTS (SELECT FROM contest.takeover t WHERE t.election = w.form
        AND t.generation > w.generation
        AND pg_xact_commit_timestamp(t.transaction) < pg_xact_commit_timestamp(w.transaction)))::integer AS stale
    FROM (SELECT * FROM contest.write UNION ALL SELECT * FROM contest.guarded) w WHERE form = $1`,
    [form],
  )
  if (counts === undefined) throw new Error('no counts')
  return { ...counts, ...tally }
}

interface Task {
  readonly form: string
  readonly write: Write
  readonly url: string
  readonly random: Random
  readonly tally: { refused: number; failed: number }
  readonly until: number
}

class Contender {
  readonly #store: LeaseStore
  readonly #task: Task
  readonly #candidate = newCandidate(randomUUID())
  #connection: pg.Client | null = null
  #above = 0

  constructor(store: LeaseStore, task: Task) {
    this.#store = store
    this.#task = task
  }

  async run(): Promise<void> {
    while (performance.now() < this.#task.until) {
      const fence = await this.#acquire()
      if (fence === null) await sleep(this.#task.random.between(0, ASK_EVERY_MS))
      else await this.#write(fence)
    }
    this.#connection?.connection.stream.destroy()
  }

  async #acquire(): Promise<Fence | null> {
    const { form } = this.#task
    const options = { ttlMs: TTL_MS, above: this.#above }
    const outcome = await this.#store.acquire(form, this.#candidate, options, attempt())
    if (outcome.kind === 'granted') {
      return { election: form, session: this.#candidate.session, generation: outcome.generation }
    }
    if (outcome.kind === 'refused') this.#above = Math.max(this.#above, outcome.generation ?? 0)
    return null
  }

  /** Writes, and renews now and then, until it no longer believes, or is refused. */
  async #write(fence: Fence): Promise<void> {
    const { random, tally } = this.#task
    let believesUntil = performance.now() + BELIEVES_MS
    while (performance.now() < believesUntil) {
      const pauseMs = random.chance(SLOW_SHARE) ? random.between(...SLOW_MS) : 0
      const written = await this.#attempt(fence, pauseMs)
      if (written === null) tally.failed++
      if (written === false) {
        tally.refused++
        return
      }
      await sleep(random.between(0, 5))
      if (!random.chance(0.1)) continue
      const renewal = await this.#store.renew(fence, TTL_MS, attempt())
      if (renewal.kind === 'lost') return
      if (renewal.kind === 'granted') believesUntil = performance.now() + BELIEVES_MS
    }
  }

  /** Null: the connection failed, or the server ended the transaction. */
  async #attempt(fence: Fence, pauseMs: number): Promise<boolean | null> {
    const { write, form, url } = this.#task
    this.#connection ??= await connect(url)
    try {
      return await write(this.#connection, fence, pauseMs, form)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      this.#connection.connection.stream.destroy()
      this.#connection = null
      if (!ENDED.test(`${(error as { code?: string }).code} ${error.message}`)) throw error
      return null
    }
  }
}

/** Ended by the server for its length, or a connection that is gone. */
const ENDED = /^(25P03|25P04)|Connection terminated|not queryable|ECONNRESET|EPIPE/

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  return client
}
