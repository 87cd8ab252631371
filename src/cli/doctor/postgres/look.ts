/** One connection to a server, and the questions that are put over it. */
import type pg from 'pg'
import type { Location } from '../../../stores/postgres/location.ts'
import type { Facts, Session } from '../../../stores/postgres/session.ts'
import type { StoreSettings } from '../../../stores/store.ts'
import type { Subject } from '../subject.ts'

export interface Look {
  readonly session: Session
  readonly facts: Facts
  readonly location: Location
  readonly settings: StoreSettings
  readonly subject: Subject
  readonly signal: AbortSignal
  /** Another connection to the same server. Must be destroyed. */
  another(): Promise<Session>
}

/** The only row of a question that has one. */
export async function askOne<Row extends pg.QueryResultRow>(
  { session, signal }: Pick<Look, 'session' | 'signal'>,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row> {
  const [row] = await session.query<Row>(sql, values, signal)
  if (row === undefined) throw new Error('the server answered a question that has one row with none')
  return row
}
