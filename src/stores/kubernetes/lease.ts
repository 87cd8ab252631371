/**
 * A Lease as it is on the wire, and what it means: pure functions. Written the way client-go writes it, except
 * that `leaseTransitions` grows at every new tenure, also of the same holder.
 */
import type { TenureKey } from '../../election/tenure.ts'
import { type Candidate, StoreError } from '../store.ts'
import { nextTime, renewalTime } from './micro-time.ts'

const API_VERSION = 'coordination.k8s.io/v1'
/** `leaseTransitions` is an int32; one more would wrap, and be refused for ever. */
export const GENERATION_MOST = 2 ** 31 - 1
/** What client-go leaves behind when it releases. */
const RELEASED_SECONDS = 1

type Json = Readonly<Record<string, unknown>>

/** A Lease as received. `raw` is all of it: what we do not know is written back as it was. */
export interface LeaseRecord {
  readonly raw: Json
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** `holderIdentity` as stored; null when free. */
  readonly holderIdentity: string | null
  /** The holder's label; null when free. */
  readonly holder: string | null
  /** The holder's session, or its whole identity where it is none of ours; null when free. */
  readonly session: string | null
  readonly generation: number
  /** Null where the record has none. */
  readonly durationMs: number | null
  readonly renewTime: string | null
  readonly strategy: string | null
  /** Changes with every write of a holder, and with nothing else. */
  readonly mark: string
}

const OURS = /^(?<holder>.*)_(?<session>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/s

/** `identity_session`, the form in which controller-runtime writes `host_uuid`. */
function holderIdentityOf({ identity, session }: Candidate): string {
  return `${identity}_${session}`
}

/** Reads what the API server sent; null where that is no Lease. */
export function readLease(value: unknown): LeaseRecord | null {
  const raw = asObject(value)
  const metadata = asObject(raw?.metadata)
  const name = asText(metadata?.name)
  const uid = asText(metadata?.uid)
  const resourceVersion = asText(metadata?.resourceVersion)
  if (raw === null || name === null || uid === null || resourceVersion === null) return null
  const spec = asObject(raw.spec) ?? {}
  const holderIdentity = asText(spec.holderIdentity)
  const named = holderIdentity === null ? null : OURS.exec(holderIdentity)?.groups
  const seconds = asNumber(spec.leaseDurationSeconds)
  return {
    raw,
    name,
    uid,
    resourceVersion,
    holderIdentity,
    holder: named?.holder ?? holderIdentity,
    session: named?.session ?? holderIdentity,
    generation: asNumber(spec.leaseTransitions) ?? 0,
    durationMs: seconds === null ? null : seconds * 1_000,
    renewTime: asText(spec.renewTime),
    strategy: asText(spec.strategy),
    mark: JSON.stringify([
      uid,
      holderIdentity,
      spec.renewTime ?? null,
      spec.acquireTime ?? null,
      spec.leaseTransitions ?? null,
      seconds,
    ]),
  }
}

/** Whether the record names this tenure, expired or not. */
export function isNamed(
  record: LeaseRecord | null,
  tenure: Omit<TenureKey, 'election'>,
): record is LeaseRecord {
  return record !== null && record.session === tenure.session && record.generation === tenure.generation
}

/** The object that begins a tenure in an election that has no Lease. */
export function createdBody(
  name: string,
  who: Candidate,
  generation: number,
  ttlMs: number,
  dateMs: number,
): Json {
  const metadata = { name }
  return {
    apiVersion: API_VERSION,
    kind: 'Lease',
    metadata,
    spec: tenureSpec(who, generation, ttlMs, null, dateMs),
  }
}

/** The object that begins a tenure. */
export function acquiredBody(
  record: LeaseRecord,
  who: Candidate,
  generation: number,
  ttlMs: number,
  dateMs: number,
): Json {
  return withSpec(record, tenureSpec(who, generation, ttlMs, record.renewTime, dateMs))
}

/** The object that extends the tenure that the record names. */
export function renewedBody(record: LeaseRecord, ttlMs: number, dateMs: number): Json {
  return withSpec(record, {
    leaseDurationSeconds: seconds(ttlMs),
    renewTime: renewalTime(record.renewTime, dateMs),
  })
}

/** The object that frees the Lease, as client-go does it. */
export function releasedBody(record: LeaseRecord, dateMs: number): Json {
  const now = nextTime(record.renewTime, dateMs)
  return withSpec(record, {
    holderIdentity: '',
    leaseDurationSeconds: RELEASED_SECONDS,
    acquireTime: now,
    renewTime: now,
    leaseTransitions: record.generation,
  })
}

function tenureSpec(
  who: Candidate,
  generation: number,
  ttlMs: number,
  previousTime: string | null,
  dateMs: number,
): Json {
  const now = nextTime(previousTime, dateMs)
  return {
    holderIdentity: holderIdentityOf(who),
    leaseDurationSeconds: seconds(ttlMs),
    acquireTime: now,
    renewTime: now,
    leaseTransitions: generation,
  }
}

/**
 * Everything as it was received, `uid` and `resourceVersion` included, with these fields of the spec. Without the
 * uid the API server would make a Lease anew that was deleted; nulls are not written, other clients stumble on them.
 */
function withSpec(record: LeaseRecord, changes: Json): Json {
  const spec = Object.entries(asObject(record.raw.spec) ?? {}).filter(([, value]) => value !== null)
  return {
    ...record.raw,
    apiVersion: API_VERSION,
    kind: 'Lease',
    spec: { ...Object.fromEntries(spec), ...changes },
  }
}

function seconds(ttlMs: number): number {
  const whole = ttlMs / 1_000
  if (Number.isInteger(whole) && whole > 0) return whole
  throw new StoreError(
    'misconfigured',
    `Kubernetes: the ttl is ${ttlMs} ms, and a Lease keeps whole seconds: set --ttl to whole seconds`,
    { cause: null },
  )
}

function asObject(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
}

/** Absent, null and empty are the same. */
function asText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
