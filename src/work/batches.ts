/** Cuts a list into what one statement takes. */
import type { Claimed } from './outcome.ts'

/** A statement looks for each row among its tokens, one after the other: its work grows with the square of them. */
const BATCH_MOST_ITEMS = 500

/** Tells claims apart: by key and token. */
export function claimId({ key, token }: Claimed): string {
  return JSON.stringify([key, token])
}

/** Each claim once, and no token twice in one batch: a row is found by the first place of its token. */
export function batchesOf<I extends Claimed>(items: readonly I[]): readonly (readonly I[])[] {
  const distinct = new Map(items.map((item) => [claimId(item), item]))
  const timesSeen = new Map<string, number>()
  const rounds: I[][] = []
  for (const item of distinct.values()) {
    const token = item.token.toLowerCase()
    const n = timesSeen.get(token) ?? 0
    timesSeen.set(token, n + 1)
    const round = rounds[n] ?? []
    round.push(item)
    rounds[n] = round
  }
  return rounds.flatMap(cut)
}

function cut<I>(items: readonly I[]): readonly (readonly I[])[] {
  const count = Math.ceil(items.length / BATCH_MOST_ITEMS)
  return Array.from({ length: count }, (_, i) =>
    items.slice(i * BATCH_MOST_ITEMS, (i + 1) * BATCH_MOST_ITEMS),
  )
}
