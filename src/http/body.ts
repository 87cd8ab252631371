import { Problem } from './problem.ts'

export const BODY_MOST_BYTES = 4 * 1024
/** For the calls on claims: so many paths fit. */
export const CLAIM_BODY_MOST_BYTES = 64 * 1024

export function tooLarge(mostBytes: number): Problem {
  return new Problem(
    413,
    'body_too_large',
    `body is larger than ${mostBytes} bytes, the most that a call may carry: send less`,
    { headers: { Connection: 'close' } },
  )
}

/** The faults that reading a body of `mostBytes` at most meets, in our words; null for any other error. */
export function bodyProblem(error: unknown, mostBytes: number): Problem | null {
  if (!(error instanceof Error) || !('type' in error)) return null
  const close = { headers: { Connection: 'close' } }
  switch (error.type) {
    case 'entity.parse.failed':
      return new Problem(400, 'not_json', `body is not a JSON object (${error.message}): send one, or none`)
    case 'entity.too.large':
      return tooLarge(mostBytes)
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new Problem(415, 'not_plain_json', `body: ${error.message}; send plain JSON in UTF-8`, close)
    case 'request.aborted':
    case 'request.size.invalid':
      return new Problem(
        400,
        'body_incomplete',
        `body: ${error.message}; send as much as Content-Length says`,
        close,
      )
    default:
      return null
  }
}
