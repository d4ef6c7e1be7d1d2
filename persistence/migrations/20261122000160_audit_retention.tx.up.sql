-- The trails stay append-only, except that erase_audit erases old entries. The setting comanda.erasing_audit is on only
-- during a call. It gives no privilege: PostgreSQL refuses a role without DELETE on a trail before triggers run.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('comanda.erasing_audit', true) = 'on' THEN
        RETURN NULL; -- ignored by statement triggers
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;

-- The owner, as which erase_audit runs, is bound by forced row-level security.
CREATE POLICY erasure ON audit TO CURRENT_USER USING (current_setting('comanda.erasing_audit', true) = 'on');

-- Reads the next entries of a trail, in the order of their ids, after an id, at most as many as given. Erases those
-- that are older than the given time. Returns the last id, whether older entries may follow, and the number of erased
-- entries. It refuses a time less than 29 days ago, so that its callers cannot erase recent traces. This is one day
-- less than the minimum of COMANDA_AUDIT_RETENTION, because clocks differ.
-- enable_sort: the policy above makes the planner expect few rows, so that it would read and sort a whole trail.
CREATE FUNCTION erase_audit(trail regclass, after text, before timestamptz, most integer,
    OUT last text, OUT more boolean, OUT erased bigint)
LANGUAGE plpgsql STRICT SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_sort = off AS $$
BEGIN
    IF trail NOT IN ('public.audit'::regclass, 'public.platform_audit'::regclass) THEN
        RAISE EXCEPTION '% is not an audit trail', trail;
    END IF;
    IF before > now() - interval '29 days' THEN
        RAISE EXCEPTION 'cannot erase audit entries since %, which is less than 29 days ago', before;
    END IF;
    PERFORM set_config('comanda.erasing_audit', 'on', true); -- only a superuser can declare it above
    EXECUTE format('
        WITH seen AS MATERIALIZED (
            SELECT id, ctid AS place, at < $2 AS over FROM %1$s WHERE id > $1 ORDER BY id LIMIT $3
            FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM %1$s t USING seen WHERE t.ctid = seen.place AND seen.over RETURNING 1
        )
        SELECT coalesce(max(id), ''''), count(*) = $3 AND bool_or(over), (SELECT count(*) FROM gone) FROM seen', trail)
    INTO last, more, erased USING after, before, most;
    PERFORM set_config('comanda.erasing_audit', 'off', true);
END $$;
REVOKE ALL ON FUNCTION erase_audit(regclass, text, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_audit(regclass, text, timestamptz, integer) TO comanda_system;
