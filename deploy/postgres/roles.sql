-- The rights of a candidate. Replace tenure_candidate by the role that Tenure logs in as; or create it as a
-- group, and grant it to such roles:
--   CREATE ROLE tenure_candidate NOLOGIN;
--   GRANT tenure_candidate TO app;
-- An observer needs no UPDATE and no INSERT. INSERT is used once for each new election.
GRANT USAGE ON SCHEMA tenure TO tenure_candidate;
GRANT SELECT ON tenure.lease TO tenure_candidate;
GRANT UPDATE ON tenure.lease TO tenure_candidate;
GRANT INSERT ON tenure.lease TO tenure_candidate;
GRANT SELECT ON tenure.migration TO tenure_candidate;
