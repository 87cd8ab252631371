import type { Item } from './outcome.ts'
import { KEY_COLUMN, RETAKEN_COLUMN, TOKEN_COLUMN } from './statements.ts'
import { claimedAt } from './token.ts'

/** Reads one row of a claim's reply. */
export function itemOf<Row>(reply: Readonly<Record<string, unknown>>): Item<Row> {
  const { [KEY_COLUMN]: key, [TOKEN_COLUMN]: token, [RETAKEN_COLUMN]: retaken, tenure_n: _, ...row } = reply
  if (typeof key !== 'string' || typeof token !== 'string') {
    throw new Error('a claimed row came back without its key or token')
  }
  return Object.freeze({
    key,
    token,
    claimedAt: claimedAt(token),
    retaken: Number(retaken) === 1,
    row: row as Row,
  })
}
