import type { Clock } from '../../clock/clock.ts'
import { span } from '../text.ts'
import { advise, type Check, ok, warning } from './check.ts'

const NAME = 'clock'

/** How far a clock elsewhere is ahead of this host's, known to within `±uncertainMs`. */
export interface Offset {
  readonly aheadMs: number
  readonly uncertainMs: number
}

/** The best of some readings: the shorter the way, the surer. */
export async function measureOffset(
  clock: Clock,
  readings: number,
  readDateMs: () => Promise<number>,
): Promise<Offset> {
  let best: Offset | null = null
  for (let i = 0; i < readings; i++) {
    const beforeMs = clock.date()
    const dateMs = await readDateMs()
    const uncertainMs = (clock.date() - beforeMs) / 2
    if (best === null || uncertainMs < best.uncertainMs)
      best = { aheadMs: dateMs - beforeMs - uncertainMs, uncertainMs }
  }
  if (best === null) throw new RangeError('an offset takes one reading at least')
  return best
}

/** Expiry never compares two hosts' clocks; but of two clocks that differ one is wrong, and may be stepped. */
export function checkOffset({ aheadMs, uncertainMs }: Offset, marginMs: number, whose: string): Check {
  const far = Math.abs(aheadMs)
  const direction = aheadMs < 0 ? 'behind' : 'ahead of'
  const found = `the clock of ${whose} is ${span(far)} ${direction} this host's (± ${span(Math.ceil(uncertainMs))})`
  if (far - uncertainMs <= marginMs / 2) return ok(NAME, found)
  return warning(
    NAME,
    found,
    `the two differ by ${span(marginMs / 2)} at most, half the margin: of clocks that differ one is wrong, and a step forward of the store's clock by more than the margin lets two lead`,
    advise(
      'synchronise both hosts (chrony, systemd-timesyncd), let their clocks be slewed and not stepped, and set a longer --margin until that is done',
    ),
  )
}
