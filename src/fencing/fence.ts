/** What a write shows to be let through, and what it is told when it is not. */

/** The tenure that a write belongs to: nothing less than all three. As `GET /v1/leadership` gives them. */
export interface Fence {
  readonly election: string
  /** The holder's process start, a UUID. */
  readonly session: string
  /** An integer from 1 below 2^53. */
  readonly generation: number
}

/** Who stands where an old generation wanted to write, as far as the guard could tell. */
export interface Standing {
  readonly generation: number
  /** A label; null when the lease is free, and where the guard keeps no labels. */
  readonly holder: string | null
}

/** The write carries a generation that leads no more. Nothing was written; asking the same again changes nothing. */
export interface Stale {
  readonly ok: false
  readonly reason: 'stale'
  /** Null where no such election or resource is known. */
  readonly current: Standing | null
}

/** What a fenced write gave. */
export type Fenced<T> = { readonly ok: true; readonly value: T } | Stale

/** `SESSION/GENERATION`: what a guarded table takes as the setting `tenure.fence` of a transaction. */
export function fenceSetting({ session, generation }: Pick<Fence, 'session' | 'generation'>): string {
  return `${session}/${generation}`
}
