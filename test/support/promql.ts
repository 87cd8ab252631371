/** Which metrics an expression of PromQL asks for, and how its durations are made shorter. */

const KEYWORDS = new Set(
  'and or unless by without on ignoring group_left group_right offset bool inf nan start end'.split(' '),
)
/** What stands in these is no metric: texts, matchers, ranges, and the labels that something is grouped by. */
const NO_METRICS = [
  /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g,
  /\{[^}]*\}/g,
  /\[[^\]]*\]/g,
  /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g,
  /\boffset\s+\S+/g,
]

/** Names of the metrics that an expression selects, each once. */
export function metricNames(expression: string): readonly string[] {
  const bare = NO_METRICS.reduce((text, pattern) => text.replaceAll(pattern, ' '), expression)
  const words = bare.matchAll(/(?<![\w:.])([A-Za-z_:][\w:]*)(?!\s*\()(?![\w:])/g)
  const names = Array.from(words, ([, word]) => word ?? '')
  return [...new Set(names.filter((word) => !KEYWORDS.has(word.toLowerCase())))]
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }
const RANGE = /\[(\d+)([smh])\]/g
const FOR = /^(\s+for: )(\d+)([smh])$/gm

/**
 * A file of rules in which every `for` and every range is `times` shorter, a `for` no shorter than `leastForMs`. What
 * the expressions compute from the ttl follows by itself.
 */
export function shortened(rules: string, times: number, leastForMs = 0): string {
  const less = (amount: string, unit: string): number =>
    Math.ceil((Number(amount) * (SECONDS[unit] ?? Number.NaN) * 1_000) / times)
  return rules
    .replaceAll(RANGE, (_, amount, unit) => `[${less(amount, unit)}ms]`)
    .replaceAll(FOR, (_, lead, amount, unit) => `${lead}${Math.max(leastForMs, less(amount, unit))}ms`)
}
