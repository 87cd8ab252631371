import type { Migration } from './migration.ts'

/**
 * The table of leases. The unique key over (election, generation) is there on purpose: a takeover changes a key
 * column, and so waits for every transaction that holds the row FOR KEY SHARE, which is what a fence does.
 */
export const lease: Migration = {
  number: 1,
  name: 'lease',
  breaking: true,
  elects: true,
  sql: `CREATE TABLE tenure.lease (
  election text COLLATE pg_catalog."C" PRIMARY KEY
    CONSTRAINT lease_election_length CHECK (pg_catalog.char_length(election) BETWEEN 1 AND 200),
  holder text,
  session uuid,
  generation bigint NOT NULL DEFAULT 0
    CONSTRAINT lease_generation_range CHECK (generation >= 0 AND generation < 9007199254740992),
  acquired_at timestamptz,
  renewed_at timestamptz,
  released_at timestamptz,
  expires_at timestamptz NOT NULL DEFAULT '-infinity',
  ttl_ms integer,
  lineage text,
  CONSTRAINT lease_generation_key UNIQUE (election, generation)
) WITH (fillfactor = 50);
COMMENT ON TABLE tenure.lease IS 'One row for each election. Rows are never deleted: the generation must not begin anew.';
COMMENT ON COLUMN tenure.lease.election IS 'Name of the election.';
COMMENT ON COLUMN tenure.lease.holder IS 'Label of the holder; null when free.';
COMMENT ON COLUMN tenure.lease.session IS 'Process start of the holder; null when free.';
COMMENT ON COLUMN tenure.lease.generation IS 'Grows at every new tenure, never on a renewal.';
COMMENT ON COLUMN tenure.lease.released_at IS 'When the last tenure was given up; null while held or when it ran out.';
COMMENT ON COLUMN tenure.lease.expires_at IS 'When the tenure runs out on this server''s clock.';
COMMENT ON COLUMN tenure.lease.ttl_ms IS 'The ttl of the last write, in milliseconds.';
COMMENT ON COLUMN tenure.lease.lineage IS 'System identifier and timeline of the server at the last write.';`,
}
