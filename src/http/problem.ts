/**
 * A question that cannot be answered as it was put. The message names the input, the rule and the remedy; it
 * goes to the caller as `{"error": {"code", "message"}}`.
 */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  /** What the body carries beside `error`. */
  readonly extra: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    code: string,
    message: string,
    more: { headers?: Readonly<Record<string, string>>; extra?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message)
    this.name = 'Problem'
    this.status = status
    this.code = code
    this.headers = more.headers ?? {}
    this.extra = more.extra ?? {}
  }
}

/** For a defect of ours. Whoever gets it must take it for "not leading". */
export function faultProblem(error: unknown): Problem {
  const cause = error instanceof Error ? error.message : String(error)
  return new Problem(
    500,
    'fault',
    `the answer could not be computed (${cause}): treat this instance as not leading; the log of the sidecar has the details`,
  )
}
