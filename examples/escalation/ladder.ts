import type { Database } from 'tenure/work'

export interface Channel {
  readonly name: string
  readonly url: string
  readonly timeoutMs: number
}

/** One step of the ladder. */
export interface Rung {
  readonly person: string
  readonly channel: Channel
  /** From this step to the next. */
  readonly waitMs: number
}

interface RungRow {
  readonly person: string
  readonly name: string
  readonly url: string
  readonly timeout_ms: number
  readonly wait_ms: number
}

/** The ladder, lowest step first. */
export async function readLadder(db: Database): Promise<readonly Rung[]> {
  const { rows } = await db.query(
    `SELECT r.person, r.wait_ms, c.name, c.url, c.timeout_ms
    FROM escalation.rung r JOIN escalation.channel c ON c.name = r.channel ORDER BY r.step`,
    [],
  )
  return (rows as readonly RungRow[]).map((row) => ({
    person: row.person,
    waitMs: row.wait_ms,
    channel: { name: row.name, url: row.url, timeoutMs: row.timeout_ms },
  }))
}
