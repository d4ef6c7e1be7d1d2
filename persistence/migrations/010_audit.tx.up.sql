-- The audit trails, and the records of requests that limit and repeat them.

-- The audit trail of a store: actor, action, target, time and address. An entry is written in the transaction of the
-- action and never changed. The roles of the service have no privilege to do so, and a trigger protects the trail from
-- the owner.
CREATE TABLE audit (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    action      text NOT NULL,
    actor_realm text NOT NULL, -- '' = the service itself
    actor_id    text NOT NULL,
    target      text NOT NULL, -- id of the changed object; '' = none
    details     jsonb NOT NULL,
    address     text NOT NULL,
    request_id  text NOT NULL,
    at          timestamptz NOT NULL
);
-- For lists, newest first, filtered by actor, target or action. The logins of customers may be far more than the other
-- entries. A list contains either the entries of customers or all others.
CREATE INDEX audit_newest_of_staff ON audit (store_id, at, id) WHERE actor_realm <> 'customer';
CREATE INDEX audit_newest_of_customers ON audit (store_id, at, id) WHERE actor_realm = 'customer';
CREATE INDEX audit_by_action_of_staff ON audit (store_id, action, at, id) WHERE actor_realm <> 'customer';
CREATE INDEX audit_by_action_of_customers ON audit (store_id, action, at, id) WHERE actor_realm = 'customer';
CREATE INDEX audit_by_actor ON audit (store_id, actor_id, at, id);
CREATE INDEX audit_by_target ON audit (store_id, target, at, id);
CALL fence('audit', 'store_id');
REVOKE UPDATE, DELETE ON audit FROM comanda_app, comanda_system;

-- The audit trail of the platform: actions of platform administrators and changes to websites. It belongs to no store.
CREATE TABLE platform_audit (
    id          text PRIMARY KEY,
    action      text NOT NULL,
    actor_realm text NOT NULL, -- '' = the service itself
    actor_id    text NOT NULL,
    target      text NOT NULL, -- id of the changed object; '' = none
    details     jsonb NOT NULL,
    address     text NOT NULL,
    request_id  text NOT NULL,
    at          timestamptz NOT NULL
);
CREATE INDEX platform_audit_newest ON platform_audit (at, id);
CREATE INDEX platform_audit_by_actor ON platform_audit (actor_id, at, id);
CREATE INDEX platform_audit_by_target ON platform_audit (target, at, id);
CREATE INDEX platform_audit_by_action ON platform_audit (action, at, id);
GRANT SELECT, INSERT ON platform_audit TO comanda_system;

-- The trails are append-only, except that erase_audit erases old entries and erase_customer_audit replaces personal
-- data. The settings comanda.erasing_audit and comanda.erasing_customer are on only during a call. They give no
-- privilege: PostgreSQL refuses a role without UPDATE or DELETE on a trail before triggers run.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('comanda.erasing_audit', true) = 'on'
        OR TG_OP = 'UPDATE' AND current_setting('comanda.erasing_customer', true) = 'on' THEN
        RETURN NULL; -- ignored by statement triggers
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION refuse_change();
CREATE TRIGGER platform_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON platform_audit
    EXECUTE FUNCTION refuse_change();

-- The functions run as the owner of the trail, which is bound by forced row-level security. The policy names no role,
-- so that it still applies after REASSIGN OWNED.
CREATE POLICY erasure ON audit USING (current_setting('comanda.erasing_audit', true) = 'on'
    AND current_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'audit'::regclass));

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

-- Replaces a customer's address and email by the customer's id in the entries about the customer. The entries keep
-- time, action, actor and target. Addresses of users stay. It serves the store of the transaction only.
CREATE FUNCTION erase_customer_audit(of_customer text, former_email text) RETURNS void
LANGUAGE plpgsql STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('comanda.erasing_audit', 'on', true), -- for the policy of the owner
        set_config('comanda.erasing_customer', 'on', true);
    UPDATE public.audit SET address = CASE actor_realm WHEN 'customer' THEN of_customer ELSE address END,
        details = CASE former_email WHEN '' THEN details
            ELSE replace(details::text, to_json(former_email)::text, to_json(of_customer)::text)::jsonb END
    WHERE store_id = current_setting('comanda.store_id', true)
        AND (actor_realm = 'customer' AND actor_id = of_customer OR target = of_customer);
    PERFORM set_config('comanda.erasing_audit', 'off', true), set_config('comanda.erasing_customer', 'off', true);
END $$;
REVOKE ALL ON FUNCTION erase_customer_audit(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_customer_audit(text, text) TO comanda_app;

-- Requests with an Idempotency-Key and the objects that they created, each written with its effect.
CREATE TABLE idempotency_keys (
    store_id   text NOT NULL REFERENCES stores,
    credential text NOT NULL,  -- of the caller
    route      text NOT NULL,  -- method and path
    key        text NOT NULL,
    body_hash  bytea NOT NULL,
    response   bytea NOT NULL, -- the created object as JSON, without values that are shown once
    existed    boolean NOT NULL DEFAULT false, -- the response returned an existing object: status 200, not 201
    subject    text NOT NULL DEFAULT '', -- of the created object, see app.Subject; '' = none
    created_at timestamptz NOT NULL,
    PRIMARY KEY (store_id, credential, route, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_of_subject ON idempotency_keys (store_id, subject);
CALL fence('idempotency_keys', 'store_id');

-- Requests of platform administrators with an Idempotency-Key, like idempotency_keys. They belong to no store.
CREATE TABLE platform_idempotency_keys (
    credential text NOT NULL,  -- the user
    route      text NOT NULL,  -- method and path
    key        text NOT NULL,
    body_hash  bytea NOT NULL,
    response   bytea NOT NULL, -- the created object as JSON, without values that are shown once
    existed    boolean NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (credential, route, key)
);
CREATE INDEX platform_idempotency_keys_age ON platform_idempotency_keys (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON platform_idempotency_keys TO comanda_system;

-- Open streams (server-sent events) of all replicas, to limit them per store.
CREATE TABLE open_streams (
    request_id text PRIMARY KEY,
    store_id   text NOT NULL REFERENCES stores,
    expires_at timestamptz NOT NULL -- the end of the lease, which the replica renews
);
CREATE INDEX open_streams_of_store ON open_streams (store_id);
CALL fence('open_streams', 'store_id');

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
