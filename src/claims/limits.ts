/** What a book takes, and what it refuses as a mistake in the program that asks. */
import type { Naming } from './turn.ts'

export const DEFAULT_TTL_MS = 300_000
/** A claim or a wait that is meant to last longer is a mistake; timers of the platform would overflow at 24 days. */
export const DURATION_MOST_MS = 86_400_000
export const HOLDER_MOST_CHARACTERS = 200
/** In one request. */
export const PATHS_MOST = 256
/** In one book, those that only pins keep alive included. */
export const CLAIMS_MOST = 20_000
/** In one book. What one frees is told to all of them. */
export const WAITS_MOST = 256
export const PINS_MOST = 1_024
/** For the owner of a book: everything in the way is named. */
export const NAMES_ALL: Naming = { most: Number.POSITIVE_INFINITY, lookedAtMost: Number.POSITIVE_INFINITY }
/** For those whom nobody vouches for. All waits may end at one moment, and each looks at so many. */
export const NAMES_SOME: Naming = { most: 64, lookedAtMost: 1_000 }

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** @throws RangeError unless it is a label that a log line can carry. */
export function checkLabel(what: string, label: string): void {
  const length = typeof label === 'string' ? [...label].length : 0
  const sound = length > 0 && length <= HOLDER_MOST_CHARACTERS && label.isWellFormed() && !CONTROL.test(label)
  if (sound) return
  throw new RangeError(
    `${what} ${JSON.stringify(label)}: a label has 1 to ${HOLDER_MOST_CHARACTERS} characters, none of them a control character; choose another`,
  )
}

/** @throws RangeError unless it is a whole number of milliseconds within the bounds. */
export function checkDuration(what: string, ms: number, leastMs: number): void {
  if (Number.isSafeInteger(ms) && ms >= leastMs && ms <= DURATION_MOST_MS) return
  throw new RangeError(
    `${what} ${ms}: it is a whole number of milliseconds from ${leastMs} to ${DURATION_MOST_MS}; set one`,
  )
}

/** @throws RangeError unless there is at least one path and not too many. */
export function checkPaths(paths: readonly string[]): void {
  const texts = Array.isArray(paths) && paths.every((path) => typeof path === 'string')
  if (texts && paths.length > 0 && paths.length <= PATHS_MOST) return
  throw new RangeError(
    `paths ${JSON.stringify(paths)?.slice(0, 80)}: a request names 1 to ${PATHS_MOST} paths, each a text; name at least one, or split it`,
  )
}
