-- Generated from src/stores/postgres/migrations.
CREATE FUNCTION tenure.bound_transaction(most_ms integer) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  bound text := coalesce(current_setting('tenure.bound', true), '');
  setting text;
  present_ms integer;
BEGIN
  -- Once for each transaction and bound: to begin the time anew at every question would be no bound.
  IF split_part(bound, ' ', 1) = pg_current_xact_id()::text AND split_part(bound, ' ', 2)::integer <= most_ms THEN
    RETURN;
  END IF;
  FOREACH setting IN ARRAY ARRAY['idle_in_transaction_session_timeout', 'transaction_timeout'] LOOP
    -- PostgreSQL before 17 has no transaction_timeout.
    CONTINUE WHEN current_setting(setting, true) IS NULL;
    present_ms := extract(epoch FROM current_setting(setting)::interval) * 1000;
    -- Zero is none. A timer that runs already keeps its time whatever is set, unless it is stopped first.
    PERFORM set_config(setting, '0', true);
    PERFORM set_config(setting, least(nullif(present_ms, 0), most_ms)::text, true);
  END LOOP;
  PERFORM set_config('tenure.bound', concat(pg_current_xact_id(), ' ', most_ms), true);
END
$body$;

CREATE FUNCTION tenure.try_guard(election text, session uuid, generation bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  lease record;
BEGIN
  SELECT l.expires_at, l.ttl_ms INTO lease FROM tenure.lease l
  WHERE l.election = try_guard.election AND l.session = try_guard.session
    AND l.generation = try_guard.generation AND l.expires_at > clock_timestamp()
  FOR KEY SHARE;
  IF NOT FOUND OR lease.expires_at <= clock_timestamp() THEN
    RETURN false;
  END IF;
  PERFORM tenure.bound_transaction(lease.ttl_ms);
  RETURN true;
END
$body$;

CREATE FUNCTION tenure.current(election text) RETURNS TABLE (generation bigint, holder text)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  SELECT l.generation, CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END
  FROM tenure.lease l WHERE l.election = $1
$body$;

CREATE FUNCTION tenure.guard(election text, session uuid, generation bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  standing record;
BEGIN
  IF tenure.try_guard(election, session, generation) THEN
    RETURN;
  END IF;
  SELECT c.generation, c.holder INTO standing FROM tenure.current(guard.election) c;
  RAISE EXCEPTION USING ERRCODE = 'TN001',
    MESSAGE = format('tenure: generation %s does not lead %s%s', coalesce(generation::text, '(null)'),
      coalesce(quote_literal(election), '(null)'), CASE
        WHEN standing.generation IS NULL THEN ', which has never had a leader'
        WHEN generation > standing.generation THEN format(': it has not begun, the last one is %s', standing.generation)
        WHEN standing.holder IS NULL THEN ' any more; nobody does just now'
        WHEN generation = standing.generation THEN format(' under this session; %s does, under another one', standing.holder)
        ELSE format('; %s does, under generation %s', standing.holder, standing.generation) END),
    DETAIL = CASE WHEN standing.generation IS NULL THEN 'null'
      ELSE json_build_object('generation', standing.generation, 'holder', standing.holder)::text END,
    HINT = 'Roll back, stop the work of this generation, and ask the sidecar again before any other.';
END
$body$;

REVOKE ALL ON FUNCTION tenure.bound_transaction(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure.try_guard(text, uuid, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure.current(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure.guard(text, uuid, bigint) FROM PUBLIC;
COMMENT ON FUNCTION tenure.guard(text, uuid, bigint) IS 'First statement of a fenced transaction: raises TN001 unless this tenure leads, and makes a takeover wait for the end of the transaction.';
COMMENT ON FUNCTION tenure.try_guard(text, uuid, bigint) IS 'As tenure.guard, answering false instead of raising.';
COMMENT ON FUNCTION tenure.current(text) IS 'The last generation of an election and who holds it now; holder is null when nobody does.';
COMMENT ON FUNCTION tenure.bound_transaction(integer) IS 'Lets this transaction last no longer than so many milliseconds: a takeover waits for it.';
