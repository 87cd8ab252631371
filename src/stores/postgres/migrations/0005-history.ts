import type { Migration } from './migration.ts'

/**
 * The tenures that were. Nothing refers to it, and no lease needs it: it may be locked, cleared or dropped without
 * anybody losing the leadership.
 *
 * No check stands on its columns but the key: the server's clock may be set back, and a newer Tenure may know
 * reasons that an older one does not.
 */
export const history: Migration = {
  number: 5,
  name: 'history',
  breaking: false,
  elects: false,
  sql: `CREATE TABLE tenure.history (
  election text COLLATE pg_catalog."C" NOT NULL,
  generation bigint NOT NULL,
  holder text,
  writer text,
  began_at timestamptz NOT NULL,
  ended_at timestamptz,
  reason text,
  leaderless_ms bigint,
  CONSTRAINT history_pkey PRIMARY KEY (election, generation)
);
COMMENT ON TABLE tenure.history IS 'One row for each tenure, of the last ones only. For people: no lease depends on it.';
COMMENT ON COLUMN tenure.history.holder IS 'Label of the holder; null where it had gone before it was written down.';
COMMENT ON COLUMN tenure.history.writer IS 'Tells the process that held it and wrote it down; null where its successor did. Not its session.';
COMMENT ON COLUMN tenure.history.began_at IS 'When it was granted, on this server''s clock.';
COMMENT ON COLUMN tenure.history.ended_at IS 'When the lease was given back or ran out; null while it lasts, and where nobody could tell.';
COMMENT ON COLUMN tenure.history.reason IS 'Why it ended, as its holder said; otherwise expired, released or unknown.';
COMMENT ON COLUMN tenure.history.leaderless_ms IS 'How long nobody held the lease before it; null when unknown.';`,
}
