/** One numbered step of the schema. Once released it never changes. */
export interface Migration {
  /** From 1, without gaps. */
  readonly number: number
  readonly name: string
  /** Whether code that does not know it must not use the schema any more. */
  readonly breaking: boolean
  /** Whether a candidate cannot do without it. The rest is for applications, and may be missing for a while. */
  readonly elects: boolean
  /** Statements, each ended by a semicolon; run inside one transaction with the steps before. */
  readonly sql: string
}
