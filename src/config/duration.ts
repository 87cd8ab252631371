import { bad, good, type Parsed } from './parsed.ts'

const UNITS_MS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const
type Unit = keyof typeof UNITS_MS

/** No wait in Tenure is longer; timers of the platform would overflow at 24 days. */
export const DURATION_MOST_MS = 24 * UNITS_MS.h

/** Enough for any duration up to the bound, written with any sensible fraction. */
const DIGITS_MOST = 20

const FORM = /^(\d+)(?:\.(\d+))?(ms|s|m|h)$/
const REMEDY = 'write a number and a unit, for example 1500ms, 15s, 2m or 1h'

/** Reads `1500ms`, `15s`, `2m`, `1.5h` or `0` as whole milliseconds. A bare number other than 0 is refused. */
export function parseDuration(text: string): Parsed<number> {
  if (text === '0') return good(0)
  if (text.startsWith('-')) return bad('a duration is never negative', REMEDY)
  if (/^\d+(\.\d+)?$/.test(text)) return bad('a number without a unit says no duration', writeUnit(text))
  const match = FORM.exec(text)
  if (match === null) return bad('this is not a duration', REMEDY)
  const [, whole = '', fraction = '', unit = ''] = match
  if (whole.length + fraction.length > DIGITS_MOST) {
    return bad(`a duration has ${DIGITS_MOST} digits at most`, REMEDY)
  }
  return exactMs(whole, fraction, unit as Unit)
}

/** In integers, because 1.001 × 1000 is not 1001 in binary fractions. */
function exactMs(whole: string, fraction: string, unit: Unit): Parsed<number> {
  const scaled = BigInt(whole + fraction) * BigInt(UNITS_MS[unit])
  const scale = 10n ** BigInt(fraction.length)
  if (scaled % scale !== 0n) return bad('a duration is a whole number of milliseconds', 'round it')
  const ms = scaled / scale
  if (ms > BigInt(DURATION_MOST_MS)) return bad('a duration is 24h at most', 'set a shorter one')
  return good(Number(ms))
}

function writeUnit(text: string): string {
  return `write ${text}s for seconds or ${text}ms for milliseconds`
}

/** Writes milliseconds the shortest way that `parseDuration` reads back unchanged. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0'
  for (const [unit, unitMs] of Object.entries(UNITS_MS)) {
    if (ms % unitMs === 0) return `${ms / unitMs}${unit}`
  }
  return `${ms}ms`
}
