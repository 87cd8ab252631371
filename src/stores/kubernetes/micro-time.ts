/** Kubernetes' MicroTime: RFC 3339 in UTC with exactly six fractional digits, here as whole microseconds since 1970. */

const FORM = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/
const MICROS_PER_MS = 1_000
const MICROS_PER_S = 1_000_000
const DIGITS = 6
/** How far a renewal may be dated ahead of the wall clock. */
const AHEAD_MOST_MICROS = MICROS_PER_S
/** The end of the year 9999: later times have no such form. */
const LAST_MICROS = Date.UTC(10_000, 0, 1) * MICROS_PER_MS - 1

/** Reads any number of fractional digits; null where the text is no time. */
export function parseMicros(text: string): number | null {
  const parts = FORM.exec(text)
  if (parts === null) return null
  const [, seconds, fraction = '', zone] = parts
  const wholeMs = Date.parse(`${seconds}${zone}`)
  if (Number.isNaN(wholeMs)) return null
  return wholeMs * MICROS_PER_MS + Number(fraction.slice(0, DIGITS).padEnd(DIGITS, '0'))
}

export function formatMicros(micros: number): string {
  const whole = Math.min(Math.max(0, Math.floor(micros)), LAST_MICROS)
  const text = new Date(Math.floor(whole / MICROS_PER_MS)).toISOString()
  return `${text.slice(0, -1)}${String(whole % MICROS_PER_MS).padStart(3, '0')}Z`
}

/**
 * The time to write now, after `previous`: later by a microsecond at least, whatever the wall clock says, so that
 * every write of a holder can be told from the one before it.
 */
export function nextTime(previous: string | null, dateMs: number): string {
  const nowMicros = Math.floor(dateMs * MICROS_PER_MS)
  const before = previous === null ? null : parseMicros(previous)
  return formatMicros(before === null ? nowMicros : Math.max(before + 1, nowMicros))
}

/**
 * The time of a renewal after `previous`: in a later second, where that is at most a second ahead. client-go tells
 * records apart by whole seconds; a renewal that was repeated within one it would not see, and take the Lease early.
 */
export function renewalTime(previous: string | null, dateMs: number): string {
  const nowMicros = Math.floor(dateMs * MICROS_PER_MS)
  const before = previous === null ? null : parseMicros(previous)
  if (before === null) return formatMicros(nowMicros)
  const second = (Math.floor(before / MICROS_PER_S) + 1) * MICROS_PER_S
  const after = second - nowMicros <= AHEAD_MOST_MICROS ? second : before + 1
  return formatMicros(Math.max(after, nowMicros))
}
