/** Runs a statement over claims, and makes outcomes of what it says. A batch never fails as a whole by one row. */
import { batchesOf, claimId } from './batches.ts'
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
  try {
    const [done] = await run(db, [item], make)
    if (done === undefined) throw new Error('one item was given, and no outcome came back')
    return done
  } catch (error) {
    if (classify(error) !== 'contended') throw error
    return outcome(item, 'contended')
  }
}

/**
 * Several, in the same order.
 *
 * @throws a fault of the store or of the statement; then it is unknown for all of them whether they were written.
 */
export async function changeMany<I extends Claimed>(
  db: Database,
  items: readonly I[],
  make: MakeStatement,
): Promise<Outcome<I>[]> {
  const outcomes = await changeBatches(db, batchesOf(items), make)
  const byClaim = new Map(outcomes.map((one) => [claimId(one.item), one]))
  return items.flatMap((item) => {
    const found = byClaim.get(claimId(item))
    return found === undefined ? [] : [{ ...found, item }]
  })
}

/** What was written before a later batch met a fault of the store keeps its outcomes; nothing is tried after it. */
async function changeBatches<I extends Claimed>(
  db: Database,
  batches: readonly (readonly I[])[],
  make: MakeStatement,
): Promise<Outcome<I>[]> {
  const outcomes: Outcome<I>[] = []
  for (const [i, batch] of batches.entries()) {
    try {
      outcomes.push(...(await changeTogether(db, batch, make, batches.length === 1)))
    } catch (error) {
      if (i === 0 || classify(error) !== 'store') throw error
      const rest = batches.slice(i).flat()
      return [...outcomes, ...rest.map((item) => refused(item, 'store', error as Error))]
    }
  }
  return outcomes
}

/**
 * All in one statement; where that is refused because of some row, each by itself. `only`: there is no other batch,
 * whose outcomes a transaction of the caller's could take with it.
 */
async function changeTogether<I extends Claimed>(
  db: Database,
  items: readonly I[],
  make: MakeStatement,
  only: boolean,
): Promise<Outcome<I>[]> {
  try {
    return await run(db, items, make)
  } catch (error) {
    const kind = classify(error)
    if (kind === 'store' || kind === 'aborted') throw error
    if (kind === 'row' && (await isRefused(db, make))) throw error
    const [first] = items
    if (only && items.length === 1 && first !== undefined) return [refused(first, kind, error as Error)]
    return await changeEach(db, items, make, error)
  }
}

/** Whether the statement is refused over no rows at all: then no row is to blame. */
async function isRefused(db: Database, make: MakeStatement): Promise<boolean> {
  const { text, values } = make({ keys: [], tokens: [] })
  try {
    await db.query(text, values)
    return false
  } catch {
    return true
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
    return result === 'kept' ? refused(item, 'kept', tokenKept(item)) : outcome(item, result, { leaseLeftMs })
  })
}

function resultsOf(rows: readonly unknown[]): readonly (readonly [Result | 'kept', number | null])[] {
  const [row] = rows as readonly { readonly results: string }[]
  if (row === undefined) throw new Error('the statement answered with no row')
  return JSON.parse(row.results)
}

function tokenKept({ key }: Claimed): Error {
  return new Error(
    `key ${key}: the row was written and carries its token still, which could apply again; let the table's BEFORE UPDATE triggers return NEW with the lease columns as they were set`,
  )
}
