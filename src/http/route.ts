/** What a route is. */
import type { CLAIM_SCHEMAS } from './claims-schemas.ts'

type ClaimName = keyof typeof CLAIM_SCHEMAS

/** Names of the schemas in `schemas.ts`, and `text` for what is not JSON. */
type AnswerName =
  | 'Leadership'
  | 'LeadershipEvent'
  | 'History'
  | 'Resigned'
  | 'Drained'
  | 'HolderName'
  | 'Live'
  | 'Ready'
  | 'Problem'
  | 'StaleProblem'
  | 'Document'
  | 'text'
  | ClaimName

export interface Answering {
  readonly description: string
  readonly schema: AnswerName
  readonly type?: string
  /** HTML for those who accept it. */
  readonly page?: true
}

export interface Route {
  readonly methods: readonly string[]
  readonly summary: string
  readonly parameters: readonly ('election' | 'after' | 'wait' | 'path' | 'token' | 'holder')[]
  readonly body?: 'ResignRequest' | 'DrainedRequest' | Extract<ClaimName, `${string}Request`>
  readonly answers: Readonly<Record<number, Answering>>
  /** Served on the operations listener when there is one. */
  readonly ops?: true
  /** Served where claims are kept. */
  readonly claims?: true
}
