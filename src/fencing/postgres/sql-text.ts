/** What PostgreSQL does not read as code: comments, literals, quoted names. Comments may be nested. */
const QUIET =
  /--[^\n]*|\/\*|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$/g

/** The text with blanks in place of what is no code; every other character keeps its place. */
export function blanked(text: string): string {
  let code = ''
  let from = 0
  QUIET.lastIndex = 0
  for (let found = QUIET.exec(text); found !== null; found = QUIET.exec(text)) {
    const end = found[0] === '/*' ? commentEnd(text, found.index) : QUIET.lastIndex
    code += text.slice(from, found.index) + ' '.repeat(end - found.index)
    from = end
    QUIET.lastIndex = end
  }
  return code + text.slice(from)
}

function commentEnd(text: string, start: number): number {
  let depth = 0
  for (const mark of text.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return start + mark.index + mark[0].length
  }
  return text.length
}
