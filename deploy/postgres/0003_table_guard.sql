-- Generated from src/stores/postgres/migrations.
CREATE FUNCTION tenure.guard_write(election text, relation regclass) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  fence text := coalesce(current_setting('tenure.fence', true), '');
BEGIN
  IF fence !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[0-9]{1,16}$' THEN
    RAISE EXCEPTION USING ERRCODE = 'TN002',
      MESSAGE = format('tenure: %s is fenced by the election %L, and this transaction %s', relation, election,
        CASE fence WHEN '' THEN 'does not say which tenure it belongs to'
          ELSE 'has a tenure.fence that is not SESSION/GENERATION' END),
      HINT = 'Inside the transaction, before the first write: SET LOCAL tenure.fence = ''SESSION/GENERATION'', both as the sidecar gives them. Each transaction says it anew; outside of one, SET LOCAL does nothing.';
  END IF;
  PERFORM tenure.guard(election, split_part(fence, '/', 1)::uuid, split_part(fence, '/', 2)::bigint);
  PERFORM set_config('tenure.fence', '', false);
  PERFORM set_config('tenure.fence', fence, true);
  PERFORM set_config('tenure.guarded', concat(pg_current_xact_id(), ' ', election, ' ', fence), true);
END
$body$;

CREATE FUNCTION tenure.guard_row() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  IF current_setting('tenure.guarded', true) IS DISTINCT FROM
    concat(pg_current_xact_id(), ' ', TG_ARGV[0], ' ', current_setting('tenure.fence', true))
  THEN
    PERFORM tenure.guard_write(TG_ARGV[0], TG_RELID::regclass);
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  RETURN NEW;
END
$body$;

CREATE FUNCTION tenure.guard_table(relation regclass, election text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  member record;
  kind "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = relation);
  guard oid := 'tenure.guard_row()'::regprocedure;
  bound bytea := convert_to(election, getdatabaseencoding()) || decode('00', 'hex');
BEGIN
  IF kind IS NULL OR kind NOT IN ('r', 'p') THEN
    RAISE EXCEPTION USING ERRCODE = '42809', MESSAGE = format('tenure: %s is not a table', coalesce(relation::text, '(null)')),
      HINT = 'Guard the table that a view or a foreign table writes to, where it stands.';
  END IF;
  IF election IS NULL OR char_length(election) NOT BETWEEN 1 AND 200 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'tenure: the name of an election has 1 to 200 characters';
  END IF;
  FOR member IN
    WITH RECURSIVE tree(oid) AS (
      SELECT relation::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid
    )
    SELECT c.oid::regclass AS name, c.relispartition AND c.oid <> relation AS inherits,
      r.oid IS NOT NULL AS has_row, r.tgparentid <> 0 AS is_clone, t.oid IS NOT NULL AS has_truncate,
      coalesce(r.tgargs, t.tgargs) AS args,
      coalesce(r.tgenabled NOT IN ('O', 'A') OR r.tgfoid <> guard, false)
        OR coalesce(t.tgenabled NOT IN ('O', 'A') OR t.tgfoid <> guard, false) AS is_off
    FROM tree JOIN pg_class c ON c.oid = tree.oid AND c.relkind IN ('r', 'p')
      LEFT JOIN pg_trigger r ON r.tgrelid = c.oid AND r.tgname = 'tenure_guard'
      LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = 'tenure_guard_truncate'
    ORDER BY c.oid = relation
  LOOP
    IF member.is_off THEN
      RAISE EXCEPTION USING ERRCODE = '55000',
        MESSAGE = format('tenure: a trigger of %s that is named like the guard is switched off, or is another one', member.name),
        HINT = format('Enable it, or drop it and guard the table again: SELECT tenure.unguard_table(%L);', member.name);
    END IF;
    IF member.args <> bound THEN
      RAISE EXCEPTION USING ERRCODE = '55000',
        MESSAGE = format('tenure: %s is guarded by another election', member.name),
        HINT = format('To change that, first: SELECT tenure.unguard_table(%L);', member.name);
    END IF;
    -- Below a partitioned table the row trigger comes from above; one of its own would stand in the way.
    IF member.inherits AND member.has_row AND NOT member.is_clone THEN
      EXECUTE format('DROP TRIGGER tenure_guard ON %s', member.name);
    ELSIF NOT member.inherits AND NOT member.has_row THEN
      EXECUTE format('CREATE TRIGGER tenure_guard BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION tenure.guard_row(%L)', member.name, election);
    END IF;
    IF NOT member.has_truncate THEN
      EXECUTE format('CREATE TRIGGER tenure_guard_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION tenure.guard_row(%L)', member.name, election);
    END IF;
  END LOOP;
END
$body$;

CREATE FUNCTION tenure.unguard_table(relation regclass) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  trigger record;
BEGIN
  FOR trigger IN
    WITH RECURSIVE tree(oid) AS (
      SELECT relation::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid
    )
    SELECT t.tgname AS name, t.tgrelid::regclass AS relation FROM tree JOIN pg_trigger t ON t.tgrelid = tree.oid
    WHERE t.tgname IN ('tenure_guard', 'tenure_guard_truncate') AND t.tgparentid = 0
  LOOP
    EXECUTE format('DROP TRIGGER %I ON %s', trigger.name, trigger.relation);
  END LOOP;
END
$body$;

REVOKE ALL ON FUNCTION tenure.guard_write(text, regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure.guard_row() FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure.guard_table(regclass, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure.unguard_table(regclass) FROM PUBLIC;
COMMENT ON FUNCTION tenure.guard_table(regclass, text) IS 'Fences every write to a table by an election; run it again after adding partitions, for their TRUNCATE.';
COMMENT ON FUNCTION tenure.unguard_table(regclass) IS 'Takes the guard off a table and its partitions.';
COMMENT ON FUNCTION tenure.guard_row() IS 'The trigger of tenure.guard_table.';
COMMENT ON FUNCTION tenure.guard_write(text, regclass) IS 'Asks the strict guard for the tenure named by the setting tenure.fence.';
