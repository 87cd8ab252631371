/** Runs a statement over claims, and makes outcomes of what it says. A batch never fails as a whole by one row. */
import { classify, type Database } from './database.ts'
import { type Claimed, type Outcome, outcome, type Result } from './outcome.ts'
import type { Claims, Statement } from './statements.ts'

export type MakeStatement = (claims: Claims) => Statement

/**
 * One item.
 *
 * @throws whatever the database does, unless somebody else was in the way.
 */
export async function changeOne<I extends Claimed>(
  db: Database,
  item: I,
  make: MakeStatement,
): Promise<Outcome<I>> {
  const [done] = await changeTogether(db, [item], make)
  if (done === undefined) throw new Error('one item was given, and no outcome came back')
  if (done.error !== null) throw done.error
  return done
}

/**
 * Several, in the same order.
 *
 * @throws a fault of the store; then it is unknown for all of them whether they were written.
 */
export async function changeMany<I extends Claimed>(
  db: Database,
  items: readonly I[],
  make: MakeStatement,
): Promise<Outcome<I>[]> {
  const distinct = [...new Map(items.map((item) => [item.token, item])).values()]
  const outcomes = distinct.length === 0 ? [] : await changeTogether(db, distinct, make)
  const byToken = new Map(outcomes.map((one) => [one.item.token, one]))
  return items.flatMap((item) => {
    const found = byToken.get(item.token)
    return found === undefined ? [] : [{ ...found, item }]
  })
}

/** All in one statement; where that is refused because of some row, each by itself. */
async function changeTogether<I extends Claimed>(
  db: Database,
  items: readonly I[],
  make: MakeStatement,
): Promise<Outcome<I>[]> {
  try {
    return await run(db, items, make)
  } catch (error) {
    const kind = classify(error)
    if (kind === 'store' || kind === 'aborted') throw error
    const [only] = items
    if (items.length === 1 && only !== undefined) return [refused(only, kind, error as Error)]
    return await changeEach(db, items, make, error)
  }
}

/** `because`: what the statement over all of them met. */
async function changeEach<I extends Claimed>(
  db: Database,
  items: readonly I[],
  make: MakeStatement,
  because: unknown,
): Promise<Outcome<I>[]> {
  const outcomes: Outcome<I>[] = []
  for (const item of items) {
    try {
      outcomes.push(...(await run(db, [item], make)))
    } catch (error) {
      const kind = classify(error)
      // A transaction of the caller ended with the first error: that one tells why.
      if (kind === 'aborted') throw because
      outcomes.push(refused(item, kind, error as Error))
    }
  }
  return outcomes
}

/** Rows that were written before a later one met a fault of the store keep their outcomes. */
function refused<I extends Claimed>(item: I, kind: string, error: Error): Outcome<I> {
  return kind === 'contended' ? outcome(item, 'contended') : outcome(item, 'fault', { error })
}

async function run<I extends Claimed>(
  db: Database,
  items: readonly I[],
  make: MakeStatement,
): Promise<Outcome<I>[]> {
  const { text, values } = make({
    keys: items.map(({ key }) => key),
    tokens: items.map(({ token }) => token),
  })
  const { rows } = await db.query(text, values)
  const results = resultsOf(rows)
  return items.map((item, i) => {
    const [result, leaseLeftMs] = results[i] ?? ['missing', null]
    return outcome(item, result, { leaseLeftMs })
  })
}

function resultsOf(rows: readonly unknown[]): readonly (readonly [Result, number | null])[] {
  const [row] = rows as readonly { readonly results: string }[]
  if (row === undefined) throw new Error('the statement answered with no row')
  return JSON.parse(row.results)
}
