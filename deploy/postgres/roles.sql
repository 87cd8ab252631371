-- Replace tenure_candidate by the role that Tenure logs in as, and tenure_application by the one that
-- the application writes as; or create them as groups, and grant those to such roles:
--   CREATE ROLE tenure_candidate NOLOGIN;
--   CREATE ROLE tenure_application NOLOGIN;

-- A candidate. An observer needs no UPDATE and no INSERT; INSERT is used once for each new election.
GRANT USAGE ON SCHEMA tenure TO tenure_candidate;
GRANT SELECT ON tenure.lease TO tenure_candidate;
GRANT UPDATE ON tenure.lease TO tenure_candidate;
GRANT INSERT ON tenure.lease TO tenure_candidate;
GRANT SELECT ON tenure.migration TO tenure_candidate;

-- The history of tenures, of which an observer needs SELECT. Without it a candidate elects all the same, and
-- knows of no tenure that it has not seen itself.
GRANT SELECT, INSERT, UPDATE, DELETE ON tenure.history TO tenure_candidate;

-- An application that fences its writes. It cannot read or change a lease.
GRANT USAGE ON SCHEMA tenure TO tenure_application;
GRANT EXECUTE ON FUNCTION tenure.guard(text, uuid, bigint) TO tenure_application;
GRANT EXECUTE ON FUNCTION tenure.try_guard(text, uuid, bigint) TO tenure_application;
GRANT EXECUTE ON FUNCTION tenure.current(text) TO tenure_application;
GRANT EXECUTE ON FUNCTION tenure.guard_resource(text, uuid, bigint) TO tenure_application;
GRANT EXECUTE ON FUNCTION tenure.try_guard_resource(text, uuid, bigint) TO tenure_application;

-- Only for a role that binds tables of its own to an election with tenure.guard_table:
--   GRANT USAGE ON SCHEMA tenure TO OWNER;
--   GRANT EXECUTE ON FUNCTION tenure.guard_table(regclass, text) TO OWNER;
--   GRANT EXECUTE ON FUNCTION tenure.unguard_table(regclass) TO OWNER;
--   GRANT EXECUTE ON FUNCTION tenure.guard_row() TO OWNER;
