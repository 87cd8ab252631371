-- Generated from src/stores/postgres/migrations.
CREATE TABLE tenure.high_water (
  resource text COLLATE pg_catalog."C" PRIMARY KEY
    CONSTRAINT high_water_resource_length CHECK (pg_catalog.char_length(resource) BETWEEN 1 AND 200),
  generation bigint NOT NULL
    CONSTRAINT high_water_generation_range CHECK (generation >= 1 AND generation < 9007199254740992),
  session uuid NOT NULL,
  raised_at timestamptz NOT NULL,
  CONSTRAINT high_water_generation_key UNIQUE (resource, generation)
) WITH (fillfactor = 50);

CREATE FUNCTION tenure.try_guard_resource(resource text, session uuid, generation bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  present record;
BEGIN
  IF resource IS NULL OR session IS NULL OR generation IS NULL THEN
    RETURN false;
  END IF;
  LOOP
    PERFORM FROM tenure.high_water h
    WHERE h.resource = try_guard_resource.resource AND h.generation = try_guard_resource.generation
      AND h.session = try_guard_resource.session
    FOR KEY SHARE;
    IF FOUND THEN
      RETURN true;
    END IF;
    UPDATE tenure.high_water h
    SET generation = try_guard_resource.generation, session = try_guard_resource.session,
      raised_at = clock_timestamp()
    WHERE h.resource = try_guard_resource.resource AND h.generation < try_guard_resource.generation;
    IF FOUND THEN
      RETURN true;
    END IF;
    INSERT INTO tenure.high_water (resource, generation, session, raised_at)
    VALUES (try_guard_resource.resource, try_guard_resource.generation, try_guard_resource.session, clock_timestamp())
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
      RETURN true;
    END IF;
    SELECT h.generation, h.session INTO present FROM tenure.high_water h
    WHERE h.resource = try_guard_resource.resource;
    IF present.generation > try_guard_resource.generation
      OR (present.generation = try_guard_resource.generation AND present.session <> try_guard_resource.session)
    THEN
      RETURN false;
    END IF;
    -- Somebody wrote between two of these statements: ask again.
  END LOOP;
END
$body$;

CREATE FUNCTION tenure.guard_resource(resource text, session uuid, generation bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  highest bigint;
BEGIN
  IF tenure.try_guard_resource(resource, session, generation) THEN
    RETURN;
  END IF;
  SELECT h.generation INTO highest FROM tenure.high_water h WHERE h.resource = guard_resource.resource;
  RAISE EXCEPTION USING ERRCODE = 'TN001',
    MESSAGE = CASE WHEN highest = generation
      THEN format('tenure: generation %s has written to %L under another session', generation, resource)
      ELSE format('tenure: generation %s is old for %L, which has seen generation %s', coalesce(generation::text, '(null)'),
        resource, coalesce(highest::text, '(none)')) END,
    DETAIL = CASE WHEN highest IS NULL THEN 'null'
      ELSE json_build_object('generation', highest, 'holder', NULL)::text END,
    HINT = 'Roll back, stop the work of this generation, and ask the sidecar again before any other.';
END
$body$;

REVOKE ALL ON FUNCTION tenure.try_guard_resource(text, uuid, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure.guard_resource(text, uuid, bigint) FROM PUBLIC;
COMMENT ON TABLE tenure.high_water IS 'The highest generation that has written to each resource.';
COMMENT ON COLUMN tenure.high_water.session IS 'Under which session: an equal generation of another one is refused.';
COMMENT ON FUNCTION tenure.guard_resource(text, uuid, bigint) IS 'First statement of a fenced transaction: raises TN001 if a higher generation has written to the resource.';
COMMENT ON FUNCTION tenure.try_guard_resource(text, uuid, bigint) IS 'As tenure.guard_resource, answering false instead of raising.';
