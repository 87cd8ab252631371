/** Where in a statement the guard is asked. Works on text in which all that is no code is blanked. */

const CONDITION = /\(\s*select\s+ok\s+from\s+tenure_guard\s*\)/i
const CLAUSE_END = /\b(returning|on\s+conflict|group\s+by|order\s+by|limit|window|union|for)\b/i

/**
 * Where the condition stands, if all that the clause lets through has to meet it: it is one of the parts of a WHERE
 * that are joined by AND. Null otherwise: `OR` and `NOT (…)` let rows through without asking.
 */
export function conditionAt(code: string): number | null {
  const condition = CONDITION.exec(code)
  if (condition === null) return null
  const before = levelBefore(code, condition.index)
  const after = levelAfter(code, condition.index + condition[0].length)
  const where = before.search(/\bwhere\b(?![\s\S]*\bwhere\b)/i)
  if (where === -1) return null
  const clause = `${before.slice(where)} ${after.split(CLAUSE_END)[0]}`
  const isJoined = /\b(where|and)\s*$/i.test(before)
  return isJoined && !/\bor\b/i.test(clause) ? condition.index : null
}

/** What stands before, back to the parenthesis around it, without what is in deeper ones. */
function levelBefore(code: string, index: number): string {
  let level = ''
  let depth = 0
  for (let i = index - 1; i >= 0; i--) {
    const character = code.charAt(i)
    if (character === '(' && depth === 0) break
    if (character === ')') depth++
    level = (depth === 0 ? character : ' ') + level
    if (character === '(') depth--
  }
  return level
}

/** What stands after, up to the parenthesis around it, without what is in deeper ones. */
function levelAfter(code: string, index: number): string {
  let level = ''
  let depth = 0
  for (const character of code.slice(index)) {
    if (character === ')' && depth === 0) break
    if (character === '(') depth++
    level += depth === 0 ? character : ' '
    if (character === ')') depth--
  }
  return level
}
