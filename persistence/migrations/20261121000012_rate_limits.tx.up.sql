-- Requests that were let through, one row for each budget. It belongs to no store: who
-- knocks has not said yet which one it wants.
CREATE TABLE rate_limits (
    key        bytea PRIMARY KEY,         -- a MAC: neither addresses nor accounts can be read from it
    hits       timestamptz[] NOT NULL,    -- as many as the budget has, at most
    expires_at timestamptz NOT NULL       -- no hit counts any more
);
CREATE INDEX rate_limits_expired ON rate_limits (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON rate_limits TO comanda_system;

-- How long a request must wait until each budget has room: a budget of most has it when its
-- most-th newest hit is at least a span old. Zero or less, or null: no longer.
CREATE FUNCTION rate_limit_wait(keys bytea[], most int[], span interval, at timestamptz) RETURNS interval LANGUAGE sql STABLE AS $$
    SELECT max((SELECT hit FROM unnest(r.hits) AS hit ORDER BY hit DESC OFFSET b.most - 1 LIMIT 1) + span - at)
    FROM unnest(keys, most) AS b(key, most) JOIN rate_limits r ON r.key = b.key
$$;

-- Takes one hit from each budget, or from none. Returns null, or how long the request must
-- wait. Budgets are locked in the order of keys, which must be the same for all callers.
-- Each statement sees what was committed before it began, so it must not run in a
-- transaction of another isolation level than READ COMMITTED.
CREATE FUNCTION take_rate_limits(keys bytea[], most int[], span interval) RETURNS interval LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at   timestamptz := clock_timestamp();
    wait interval := rate_limit_wait(keys, most, span, at);
BEGIN
    -- What is used up stays so until its time: refusing needs no lock and writes nothing.
    IF wait > '0' THEN
        RETURN wait;
    END IF;
    FOR i IN 1 .. cardinality(keys) LOOP
        INSERT INTO rate_limits AS r (key, hits, expires_at) VALUES (keys[i], '{}', at + span)
            ON CONFLICT (key) DO UPDATE SET hits = r.hits;
    END LOOP;
    at := clock_timestamp(); -- the locks may have been waited for
    wait := rate_limit_wait(keys, most, span, at);
    IF wait > '0' THEN
        RETURN wait;
    END IF;
    UPDATE rate_limits r
    SET hits = array(SELECT hit FROM unnest(r.hits) AS hit WHERE hit > at - span) || at, expires_at = at + span
    WHERE r.key = ANY (keys);
    DELETE FROM rate_limits WHERE key IN (
        SELECT key FROM rate_limits WHERE expires_at <= at ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
    RETURN NULL;
END $$;
