/** What one look at one thing came to: a value, told to people and to programs alike. */
import { StoreError, type StoreErrorKind } from '../../stores/store.ts'

/** `other`: neither the settings nor the store are at fault. */
export type FaultKind = StoreErrorKind | 'other'

/** Something to be pasted as it stands, and where. */
export interface Paste {
  /**
   * - `sql`: into `psql`, as a superuser or the owner
   * - `sqlite`: into `sqlite3`, for that file
   * - `pg_hba.conf`: as the first line of that file
   * - `manifest`: into `kubectl apply -f -`
   * - `shell`: as a command
   * - `flags`: behind the flags that are there
   * - `instead`: in place of the flag of that name
   */
  readonly into: 'sql' | 'sqlite' | 'pg_hba.conf' | 'manifest' | 'shell' | 'flags' | 'instead'
  readonly text: string
}

export interface Remedy {
  /** What to do, and what to know before. */
  readonly advice: string
  /** Null where only a person can know what to write. */
  readonly paste: Paste | null
}

export interface Check {
  /** What was looked at: `rights`, `clock`, … Several checks may have one name. */
  readonly name: string
  readonly status: 'ok' | 'warning' | 'fault' | 'skipped'
  /** Null unless it is a fault. */
  readonly kind: FaultKind | null
  readonly found: string
  /** What should be so, and why; null where nothing is wrong. */
  readonly rule: string | null
  readonly remedy: Remedy | null
}

/** What a store's examination brought. */
export interface Findings {
  readonly checks: readonly Check[]
  /** The lease of each election that could be read. */
  readonly leases: readonly Lease[]
}

/** A lease as it is stored. */
export interface Lease {
  readonly election: string
  /** Label of the holder; null when free. */
  readonly holder: string | null
  readonly session: string | null
  readonly generation: number
  /** Whether it may still be alive; where the store keeps no clock, every holder may be. */
  readonly live: boolean
}

export function ok(name: string, found: string): Check {
  return { name, status: 'ok', kind: null, found, rule: null, remedy: null }
}

/** `why` it was not looked at. */
export function skipped(name: string, why: string): Check {
  return { name, status: 'skipped', kind: null, found: why, rule: null, remedy: null }
}

export function warning(name: string, found: string, rule: string, remedy: Remedy): Check {
  return { name, status: 'warning', kind: null, found, rule, remedy }
}

export function fault(name: string, kind: FaultKind, found: string, rule: string, remedy: Remedy): Check {
  return { name, status: 'fault', kind, found, rule, remedy }
}

/** A remedy without anything to paste. */
export function advise(advice: string): Remedy {
  return { advice, paste: null }
}

export function paste(into: Paste['into'], text: string, advice: string): Remedy {
  return { advice, paste: { into, text } }
}

const RULES: Readonly<Record<StoreErrorKind, string>> = {
  unavailable: 'the store answers in time',
  denied: 'the store lets this user in, and lets it read and write leases',
  schema: 'the schema is one that this version knows',
  misconfigured: 'the settings can work as they are',
}

/** A fault of a store of which nothing better is known than what the store itself says. */
export function faultOf(name: string, error: unknown): Check {
  if (!(error instanceof StoreError)) throw error
  return fault(name, error.kind, error.message, RULES[error.kind], advise('do what the message says'))
}
