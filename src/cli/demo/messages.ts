import type { Decision, Name } from './cast.ts'

/** Set for the processes that the demo starts: which of its actors they are. */
export const ACTOR_VARIABLE = 'TENURE_DEMO_ACTOR'

export type Call =
  /** The first. `others`: the processes that must not outlive the demo, should it be killed. */
  | { readonly call: 'enter'; readonly folder: string; readonly others: readonly number[] }
  | { readonly call: 'acquire' }
  | { readonly call: 'check' }
  | { readonly call: 'write'; readonly decision: Decision }

export type Request = Call & { readonly id: number }

export interface Reply {
  readonly id: number
  readonly value?: unknown
  /** Why it failed, for people. */
  readonly error?: string
}

export function isName(text: string | undefined): text is Name {
  return text === 'a' || text === 'b'
}
