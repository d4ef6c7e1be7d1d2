-- Admitted requests, one row for each budget. The rows belong to no store, because they are counted before the request
-- is authenticated.
CREATE TABLE rate_limits (
    key        bytea PRIMARY KEY,         -- MAC of the budget's name, which hides addresses and accounts
    hits       timestamptz[] NOT NULL,    -- at most as many as the budget allows
    expires_at timestamptz NOT NULL       -- time from which no hit counts
);
CREATE INDEX rate_limits_expired ON rate_limits (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON rate_limits TO comanda_system;

-- Returns the time until each budget admits a request: a budget of n hits does if its n-th newest hit is at least one
-- span old. Zero, a negative value or null means now.
CREATE FUNCTION rate_limit_wait(keys bytea[], most int[], span interval, at timestamptz) RETURNS interval
    LANGUAGE sql STABLE AS $$
    SELECT max((SELECT hit FROM unnest(r.hits) AS hit ORDER BY hit DESC OFFSET b.most - 1 LIMIT 1) + span - at)
    FROM unnest(keys, most) AS b(key, most) JOIN rate_limits r ON r.key = b.key
$$;

-- Takes one hit from each budget, or from none. It returns null, or the time that the request must wait. It locks the
-- budgets in the order of keys, which must be the same for all callers. Each of its statements must see all data
-- committed before that statement, so it requires the isolation level READ COMMITTED.
CREATE FUNCTION take_rate_limits(keys bytea[], most int[], span interval) RETURNS interval
    LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at   timestamptz := clock_timestamp();
    wait interval := rate_limit_wait(keys, most, span, at);
BEGIN
    -- A budget that is used up stays so until that time, so a refusal needs no lock and writes nothing.
    IF wait > '0' THEN
        RETURN wait;
    END IF;
    FOR i IN 1 .. cardinality(keys) LOOP
        INSERT INTO rate_limits AS r (key, hits, expires_at) VALUES (keys[i], '{}', at + span)
            ON CONFLICT (key) DO UPDATE SET hits = r.hits;
    END LOOP;
    at := clock_timestamp(); -- waiting for the locks may have taken time
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
