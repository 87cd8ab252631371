import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** A row of `history`. Times: whole milliseconds since 1970. */
export interface HistoryRow {
  readonly generation: number
  readonly holder: string | null
  readonly fromMs: number
  readonly untilMs: number | null
  readonly reason: string | null
  readonly leaderlessMs: number | null
}

/** Rows kept of an election. */
const KEPT_MOST = 1_000
/** Rows that age does not remove: the wall clock may be wrong by years. */
const KEPT_LEAST = 100
const KEPT_MOST_MS = 400 * 24 * 60 * 60 * 1_000

/** What its successor has written of it is completed; the end that the successor was told stays. */
const TELL_OWN = `
  INSERT INTO history (election, generation, holder, writer, began_ms, ended_ms, reason, leaderless_ms)
  VALUES ($election, $generation, $holder, $writer, $fromMs, $untilMs, $reason, $leaderlessMs)
  ON CONFLICT (election, generation) DO UPDATE SET holder = excluded.holder, writer = excluded.writer,
    began_ms = excluded.began_ms, ended_ms = coalesce(ended_ms, excluded.ended_ms),
    reason = coalesce(excluded.reason, reason), leaderless_ms = excluded.leaderless_ms
  WHERE writer IS NULL OR writer = excluded.writer`

/** What the holder itself has said stays; when it ended, the grant of its successor knows best. */
const TELL_BEFORE = `
  INSERT INTO history (election, generation, holder, began_ms, ended_ms, reason)
  VALUES ($election, $generation, $holder, $fromMs, $untilMs, $reason)
  ON CONFLICT (election, generation) DO UPDATE SET holder = coalesce(holder, excluded.holder),
    ended_ms = excluded.ended_ms, reason = coalesce(reason, excluded.reason)`

const AFTER =
  'SELECT generation FROM history WHERE election = $election ORDER BY generation DESC LIMIT 1 OFFSET'

const PRUNE = `
  DELETE FROM history WHERE election = $election AND (
    generation <= (${AFTER} ${KEPT_MOST})
    OR coalesce(ended_ms, began_ms) < $oldestMs AND generation <= (${AFTER} ${KEPT_LEAST}))`

const READ = `
  SELECT generation, holder, began_ms AS fromMs, ended_ms AS untilMs, reason, leaderless_ms AS leaderlessMs
  FROM history WHERE election = ? ORDER BY generation DESC LIMIT ?`

/** Prepared apart from those of the leases, and when first used: this table may be missing. */
export class HistoryStatements {
  readonly #own: StatementSync
  readonly #before: StatementSync
  readonly #prune: StatementSync
  readonly #read: StatementSync

  constructor(database: DatabaseSync) {
    this.#own = database.prepare(TELL_OWN)
    this.#before = database.prepare(TELL_BEFORE)
    this.#prune = database.prepare(PRUNE)
    this.#read = database.prepare(READ)
  }

  tellOwn(election: string, writer: string, row: HistoryRow): void {
    this.#own.run({ election, writer, ...row })
  }

  tellBefore(election: string, row: Omit<HistoryRow, 'leaderlessMs'>): void {
    this.#before.run({ election, ...row })
  }

  prune(election: string, dateMs: number): void {
    this.#prune.run({ election, oldestMs: Math.round(dateMs) - KEPT_MOST_MS })
  }

  /** The newest first. */
  read(election: string, most: number): readonly HistoryRow[] {
    // A STRICT table holds what its columns say.
    return this.#read.all(election, most).map((row) => ({ ...row }) as unknown as HistoryRow)
  }
}
