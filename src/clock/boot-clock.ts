import { openSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { uptime } from 'node:os'

/** Long enough for the two numbers of /proc/uptime. */
const UPTIME_BYTES = 64
const DOT = 0x2e
const ZERO = 0x30

/** What CLOCK_BOOTTIME may lag behind CLOCK_MONOTONIC by rounding; more means that it is not the host's. */
const ROUNDING_MS = 100

/**
 * Makes a reader of the clock that counts suspend, in milliseconds.
 *
 * It is asked at every answer, so on Linux the file that `os.uptime()` opens each time is kept open: a quarter
 * of the cost. Elsewhere `os.uptime()` itself serves.
 */
export function bootClock(): () => number {
  let file: number
  try {
    file = openSync('/proc/uptime', 'r')
  } catch {
    return () => uptime() * 1_000
  }
  const buffer = Buffer.alloc(UPTIME_BYTES)
  return () => parseUptimeMs(buffer, readSync(file, buffer, 0, UPTIME_BYTES, 0))
}

/** Reads `12345.67 …` as 12345670 ms. Digit by digit: no string is made at an answer. */
function parseUptimeMs(text: Uint8Array, length: number): number {
  let hundredths = 0
  let decimals = -1
  for (let i = 0; i < length && decimals < 2; i++) {
    const byte = text[i] as number
    if (byte === DOT) decimals = 0
    else {
      hundredths = hundredths * 10 + (byte - ZERO)
      if (decimals >= 0) decimals++
    }
  }
  return hundredths * 10
}

/**
 * Names the boot clock, so that processes can tell whether they read the same one: boot id and time namespace.
 *
 * The two do not tell when a container was given an uptime of its own (lxcfs). Such a clock lags behind the
 * monotonic one, which the host's never does; then, and where there is no boot id, the name is `unique`, and the
 * clock is nobody else's.
 */
export function bootClockId(bootMs: number, steadyMs: number, unique: string): string {
  if (bootMs < steadyMs - ROUNDING_MS) return unique
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${bootId} ${readlinkSync('/proc/self/ns/time')}`
  } catch {
    return unique
  }
}
