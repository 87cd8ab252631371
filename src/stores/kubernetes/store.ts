/**
 * Leases of Kubernetes, which client-go candidates may contend for as well.
 *
 * Every write carries the `uid` and the `resourceVersion` of the record that was judged: whatever happened to it
 * meanwhile, a renewal above all, makes the write fail. Time is judged when the write is sent.
 */
import type { Clock } from '../../clock/clock.ts'
import type { TenureKey } from '../../election/tenure.ts'
import type { Deadline } from '../deadline.ts'
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
import { LeaseApi } from './api.ts'
import { Known } from './known.ts'
import {
  acquiredBody,
  createdBody,
  GENERATION_MOST,
  isNamed,
  type LeaseRecord,
  releasedBody,
  renewedBody,
} from './lease.ts'
import { locate, type Place } from './location.ts'
import { leaseName } from './names.ts'
import { Observed } from './observed.ts'
import { LeaseWatches } from './watch.ts'

/** A Lease keeps whole seconds, and one slow write should not cost a tenure. */
const LEAST_TTL_MS = 3_000

const CONTENDED: Contended = { kind: 'contended' }
const LOST: Lost = { kind: 'lost' }
const RELEASED: Released = { kind: 'released' }

/** What may be written for an acquire, `record` being what stands; or why nothing may. */
type Standing =
  | Refused
  | { readonly kind: 'free'; readonly generation: number; readonly leaderlessMs: number | null }

/**
 * Opens the Leases that a `kubernetes:` URL names. Nothing is connected before the first request.
 *
 * @throws StoreError `misconfigured` where no configuration or no namespace is found.
 */
export async function open(settings: StoreSettings, context: StoreContext): Promise<LeaseStore> {
  return openPlace(await locate(settings.url, process.env, context.note), context)
}

/** What the candidates of a test, which have all watched from the beginning, may share. */
export type Sightings = (election: string) => Observed

export function openPlace(place: Place, context: StoreContext, sightings?: Sightings): LeaseStore {
  return new KubernetesStore(place, context, sightings ?? (() => new Observed(context.clock)))
}

class KubernetesStore implements LeaseStore {
  readonly kind = 'kubernetes'
  readonly location: string
  readonly leastTtlMs = LEAST_TTL_MS
  readonly #clock: Clock
  readonly #note: (message: string) => void
  readonly #api: LeaseApi
  readonly #watches: LeaseWatches
  readonly #sightings: Sightings
  readonly #elections = new Map<string, Known>()

  constructor(place: Place, context: StoreContext, sightings: Sightings) {
    this.location = `${place.source.server.host}/${place.namespace}`
    this.#clock = context.clock
    this.#note = (message) => context.note(message)
    this.#sightings = sightings
    this.#api = new LeaseApi(place.source, place.namespace, context.clock)
    this.#watches = new LeaseWatches(this.#api, context, (election) => this.#known(election))
  }

  acquire(
    election: string,
    candidate: Candidate,
    options: AcquireOptions,
    attempt: Attempt,
  ): Promise<Granted | Refused | Contended> {
    const known = this.#known(election)
    known.ttlMs = options.ttlMs
    known.held = null
    return this.#api.use<Granted | Refused | Contended>(attempt, async (bounds) => {
      // A refusal makes no leader: what a healthy watch showed is good enough for one, and costs no request.
      const record = known.vouched ?? (await this.#read(election, known, bounds))
      const standing = this.#stand(record, known, candidate, options)
      if (standing.kind === 'refused') return standing
      if (bounds.remainingMs <= 0) return CONTENDED
      const { generation, leaderlessMs } = standing
      const name = leaseName(election)
      const dateMs = this.#clock.date()
      const asked = known.observed.ask()
      const written =
        record === null
          ? await this.#api.create(
              name,
              createdBody(name, candidate, generation, options.ttlMs, dateMs),
              bounds,
            )
          : await this.#api.replace(
              name,
              acquiredBody(record, candidate, generation, options.ttlMs, dateMs),
              bounds,
            )
      if (written.kind === 'conflict') return this.#overtaken(known)
      const held = { session: candidate.session, generation }
      this.#wrote(known, written.record, asked, held)
      known.held = held
      return { kind: 'granted', generation, leaderlessMs }
    })
  }

  renew(tenure: TenureKey, ttlMs: number, attempt: Attempt): Promise<Granted | Lost | Contended> {
    const { election, generation } = tenure
    const known = this.#known(election)
    known.ttlMs = ttlMs
    return this.#api.use<Granted | Lost | Contended>(attempt, async (bounds) => {
      let record = isNamed(known.latest, tenure) ? known.latest : await this.#read(election, known, bounds)
      // A conflict is no verdict: labels were edited, or an earlier renewal committed and its reply was lost.
      for (const isLast of [false, true]) {
        if (!this.#isAlive(record, known, tenure)) {
          known.held = null
          return LOST
        }
        if (bounds.remainingMs <= 0) return CONTENDED
        const asked = known.observed.ask()
        const body = renewedBody(record, ttlMs, this.#clock.date())
        const written = await this.#api.replace(record.name, body, bounds)
        if (written.kind === 'written') {
          this.#wrote(known, written.record, asked, tenure)
          known.held = tenure
          return { kind: 'granted', generation, leaderlessMs: null }
        }
        if (!isLast) record = await this.#read(election, known, bounds)
      }
      return this.#overtaken(known)
    })
  }

  release(tenure: TenureKey, attempt: Attempt): Promise<Released | Lost | Contended> {
    const known = this.#known(tenure.election)
    known.held = null
    return this.#api.use<Released | Lost | Contended>(attempt, async (bounds) => {
      const record = await this.#read(tenure.election, known, bounds)
      if (!isNamed(record, tenure)) return LOST
      this.#assertOurs(record)
      const asked = known.observed.ask()
      const written = await this.#api.replace(record.name, releasedBody(record, this.#clock.date()), bounds)
      if (written.kind === 'conflict') return this.#overtaken(known)
      known.answered(written.record, asked)
      return RELEASED
    })
  }

  current(election: string, attempt: Attempt): Promise<LeaseView | null> {
    const known = this.#known(election)
    return this.#api.use(attempt, async (bounds) => {
      const record = known.vouched ?? (await this.#read(election, known, bounds))
      if (record === null) return null
      const { holder, session, generation } = record
      // Nobody's clock can tell the instant of an expiry: the writers' are not compared with ours.
      return {
        holder,
        session,
        generation,
        expiresAt: null,
        remainingMs: known.observed.remainingMs(record, known.ttlMs),
      }
    })
  }

  watch(election: string, wake: (hint: Hint) => void): Watch {
    return this.#watches.add(election, wake)
  }

  async close(): Promise<void> {
    this.#watches.close()
    this.#api.close()
  }

  /** What an acquire comes to, given the record that stands. */
  #stand(
    record: LeaseRecord | null,
    known: Known,
    candidate: Candidate,
    { ttlMs, above }: AcquireOptions,
  ): Standing {
    if (record !== null) this.#assertOurs(record)
    const { observed } = known
    const stored = record?.generation ?? 0
    const isOurs = record !== null && record.session === candidate.session
    const leftMs = record === null || isOurs ? 0 : observed.remainingMs(record, ttlMs)
    const waitMs = isOurs ? 0 : Math.max(leftMs, observed.waitMs())
    if (waitMs > 0 || stored > above) {
      if (leftMs > 0) this.#noteTwin(record, known, candidate)
      const [holder, session] = [record?.holder ?? null, record?.session ?? null]
      const generation = record === null ? observed.highest : stored
      return { kind: 'refused', holder, session, generation, remainingMs: waitMs }
    }
    const generation = nextGeneration(Math.max(stored, above, observed.highest), record?.name)
    const leaderlessMs = record === null || isOurs ? null : this.#leaderlessMs(record, known, ttlMs)
    return { kind: 'free', generation, leaderlessMs }
  }

  /** How long nobody has held a free or expired record, as far as it was seen. */
  #leaderlessMs(record: LeaseRecord, known: Known, ttlMs: number): number | null {
    const unchangedMs = known.observed.unchangedMs(record)
    if (record.session !== null) return Math.max(0, unchangedMs - (record.durationMs ?? ttlMs))
    return unchangedMs > 0 && record.generation > 0 ? unchangedMs : null
  }

  /** Whether the record names the tenure, and nobody may have judged it expired. */
  #isAlive(record: LeaseRecord | null, known: Known, tenure: TenureKey): record is LeaseRecord {
    if (!isNamed(record, tenure)) return false
    this.#assertOurs(record)
    return known.observed.remainingMs(record, known.ttlMs) > 0
  }

  async #read(election: string, known: Known, bounds: Deadline): Promise<LeaseRecord | null> {
    const asked = known.observed.ask()
    const overdue = known.watched && known.vouched === null
    const record = await this.#api.read(leaseName(election), bounds)
    known.answered(record, asked)
    // A watch that is alive would have shown this long ago.
    if (overdue && !known.watched) this.#watches.restart(election)
    return record
  }

  /** The object that we hold is not the one that stands: the next request reads it first. */
  #overtaken(known: Known): Contended {
    known.latest = null
    known.watched = false
    return CONTENDED
  }

  /** Only what was written as it was sent is a grant; something on the way may have changed it. */
  #wrote(
    known: Known,
    record: LeaseRecord,
    asked: number,
    tenure: Pick<TenureKey, 'session' | 'generation'>,
  ): void {
    known.answered(record, asked)
    const { name, holderIdentity, generation } = record
    if (isNamed(record, tenure)) return
    throw new StoreError(
      'misconfigured',
      `Kubernetes: the Lease ${name} was stored otherwise than it was sent (holder ${JSON.stringify(holderIdentity)}, leaseTransitions ${generation}): keep admission webhooks from changing Leases`,
      { cause: null },
    )
  }

  #assertOurs({ name, strategy }: LeaseRecord): void {
    if (strategy === null) return
    throw new StoreError(
      'misconfigured',
      `Kubernetes: the Lease ${name} has the strategy ${JSON.stringify(strategy)}: its holder is chosen by coordinated leader election, not by its candidates; use another election name`,
      { cause: null },
    )
  }

  #noteTwin(record: LeaseRecord | null, known: Known, candidate: Candidate): void {
    if (known.twinNoted || record?.holder !== candidate.identity || record.session === candidate.session)
      return
    known.twinNoted = true
    this.#note(
      `the Lease ${record.name} is held by ${JSON.stringify(candidate.identity)} under another session (${record.session}): this one's process before its restart, or a twin with the same --identity; it is waited for like any other`,
    )
  }

  #known(election: string): Known {
    const known = this.#elections.get(election) ?? new Known(this.#sightings(election))
    this.#elections.set(election, known)
    return known
  }
}

function nextGeneration(after: number, name: string | undefined): number {
  if (after < GENERATION_MOST) return after + 1
  throw new StoreError(
    'misconfigured',
    `Kubernetes: ${name === undefined ? 'the election' : `the Lease ${name}`} has used up its generations: leaseTransitions ends at ${GENERATION_MOST}, and the next would be ${after + 1}; use another election name, or a lower --generation-floor`,
    { cause: null },
  )
}
