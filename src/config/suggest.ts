/** The share of a word that may differ from what was probably meant. */
const DIFFERENCE_MOST = 0.4

/** The candidate that `word` was probably meant to be; null when none is near. */
export function suggest(word: string, candidates: Iterable<string>): string | null {
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(word.length * DIFFERENCE_MOST)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** ` (did you mean X?)`, or nothing; `show` writes the candidate the way the user would. */
export function didYouMean(
  word: string,
  candidates: Iterable<string>,
  show: (candidate: string) => string = (candidate) => candidate,
): string {
  const found = suggest(word, candidates)
  return found === null ? '' : ` (did you mean ${show(found)}?)`
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) row.push(cell(a, b, i, j, row, last, beforeLast))
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function cell(
  a: string,
  b: string,
  i: number,
  j: number,
  row: readonly number[],
  last: readonly number[],
  beforeLast: readonly number[],
): number {
  const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
  const nearest = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1)
  const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
  return swapped ? Math.min(nearest, at(beforeLast, j - 2) + 1) : nearest
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0
}
