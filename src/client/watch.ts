import type { Look } from './answer.ts'
import type { Check, NotLeading } from './check.ts'
import { HeldTenure } from './held.ts'
import { keep } from './keep.ts'
import { type Desk, liveOf, look } from './look.ts'
import { News } from './news.ts'

/**
 * Yields the present state, then each change, until the signal is aborted. It does only what the reader waits for:
 * between two reads nothing runs and nothing is extended.
 */
export async function* watch(desk: Desk, signal: AbortSignal): AsyncGenerator<Check, void, undefined> {
  const news = new News(desk.settings, signal)
  let told: NotLeading | null = null
  let seen: Look | null = null
  while (!signal.aborted) {
    seen ??= await look(desk, { signal })
    if (signal.aborted) return
    if (seen.leading) {
      const live = liveOf(desk, seen)
      yield { leading: true, tenure: new HeldTenure(live.fence, live) }
      told = null
      // Null for a reader that came back too late, and sees the present state anew.
      const over = await keep(desk, live, signal)
      live.end()
      seen = over?.look ?? null
      continue
    }
    if (told === null || !isAlike(told, seen.check)) {
      told = seen.check
      yield seen.check
      if (signal.aborted) return
    }
    await news.after(seen)
    seen = null
  }
}

const SILENT: readonly string[] = ['timeout', 'unreachable']

/** A sidecar that is gone is told once, however its absence shows. */
function isAlike(a: NotLeading, b: NotLeading): boolean {
  if (SILENT.includes(a.reason) && SILENT.includes(b.reason)) return true
  return (
    a.reason === b.reason &&
    a.current?.holder === b.current?.holder &&
    a.current?.generation === b.current?.generation
  )
}
