import { bad, good, type Parsed } from './parsed.ts'

/** Characters in the name of an election or a candidate; every store keeps as many. */
export const NAME_MOST_CHARACTERS = 200

const REMEDY = `use 1 to ${NAME_MOST_CHARACTERS} characters, none of them a control character, and no space at either end`

/** Control characters and line ends: they would break a log line, a header or a terminal. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** Reads the name of an election or the identity of a candidate. */
export function parseName(text: string): Parsed<string> {
  if (text === '') return bad('a name is never empty', REMEDY)
  if (!text.isWellFormed()) return bad('a name is well-formed Unicode', REMEDY)
  if (CONTROL.test(text)) return bad('a name holds no control characters', REMEDY)
  if (text.trim() !== text) return bad('a name neither begins nor ends with a space', REMEDY)
  const length = [...text].length
  if (length > NAME_MOST_CHARACTERS) {
    return bad(`a name has ${NAME_MOST_CHARACTERS} characters at most, and this one has ${length}`, REMEDY)
  }
  return good(text)
}
