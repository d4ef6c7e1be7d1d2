-- The delivery engine: deliveries and their attempts, the starts that plans limit, bulk replays, jobs and mails.

-- One event for one subscription. Like attempts it has no foreign keys: dispatch inserts rows from a join, and a
-- foreign key would lock the row of the subscription for each of them. The id contains the time of the creation, so
-- that the primary key finds deliveries by time.
CREATE TABLE deliveries (
    id              text PRIMARY KEY,
    store_id        text NOT NULL,
    event_id        text NOT NULL,
    subscription_id text NOT NULL,
    event_type      text NOT NULL,
    queue           text NOT NULL,                 -- plan_queue of its store
    class           smallint NOT NULL DEFAULT 0    -- 0 = first delivery, 1 = of a customer.* event, 2 = replay
        CHECK (class BETWEEN 0 AND 2),
    status          text NOT NULL
        CHECK (status IN ('queued', 'pending', 'retrying', 'delivered', 'dead_letter', 'cancelled')),
    reason          text NOT NULL DEFAULT '',
    attempts        int NOT NULL DEFAULT 0,
    schedule_base   int NOT NULL DEFAULT 0,        -- attempts made before the current schedule began
    replays         int NOT NULL DEFAULT 0,
    replay_id       text,                          -- last bulk replay that queued the delivery
    resource        text NOT NULL DEFAULT '',      -- subject of the event in the outbox
    position        bigint NOT NULL DEFAULT 0,     -- of the event in its store, see event_log
    ordered         boolean NOT NULL DEFAULT false -- takes turns with other ordered ones of its resource, see turns
        CHECK (NOT ordered OR resource <> ''),
    held            boolean NOT NULL DEFAULT false -- while queued: held back until its turn
        CHECK (NOT held OR ordered),
    generation      int NOT NULL DEFAULT 0,        -- number of claims so far
    burst_id        text,                          -- burst that makes or made the first attempt
    counted_in      timestamptz,                   -- window that counts the last claim; null = unlimited plan
    scheduled_for   timestamptz NOT NULL,          -- earliest start
    lease_until     timestamptz,                   -- end of the lease of a relay
    relay           int,                           -- key of the session lock of the relay that has the lease
    started_at      timestamptz,                   -- time at which the start of the workflow was recorded
    next_retry_at   timestamptz,
    check_at        timestamptz,                   -- time of the next check by the reconciler
    created_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    UNIQUE (event_id, subscription_id)
);
-- For lists and bulk replays, which read deliveries by status and type. Pending deliveries are few and not included, so
-- that a delivery that succeeds at its first attempt is written to each index only once.
CREATE INDEX deliveries_of_store ON deliveries (store_id, status, event_type, id) WHERE status <> 'pending';
CREATE INDEX deliveries_of_subscription ON deliveries (subscription_id, status, event_type, id) INCLUDE (store_id)
    WHERE status <> 'pending';
CREATE INDEX deliveries_pending ON deliveries (store_id, subscription_id) WHERE status = 'pending';
-- Failed deliveries of a subscription that can still be delivered.
CREATE INDEX deliveries_strayed ON deliveries (subscription_id, status, id) WHERE status IN ('retrying', 'dead_letter');
-- For claims, which read the queues with waiting deliveries, their subscriptions, and the oldest events of each.
CREATE INDEX deliveries_claimable ON deliveries (queue, subscription_id, class, position, event_id)
    WHERE status = 'queued' AND NOT held;
-- For the turns of resources: the next delivery that is held back, and those in progress.
CREATE INDEX deliveries_held ON deliveries (queue, subscription_id, resource, class, position)
    WHERE status = 'queued' AND held;
CREATE INDEX deliveries_ordered ON deliveries (subscription_id, resource)
    WHERE ordered AND status IN ('pending', 'retrying');
-- Claims whose lease may have ended.
CREATE INDEX deliveries_leased ON deliveries (lease_until) WHERE status = 'pending' AND started_at IS NULL;
-- Unfinished deliveries of a burst whose relay or worker has crashed.
CREATE INDEX deliveries_of_burst ON deliveries (burst_id) WHERE burst_id IS NOT NULL AND status = 'pending';
-- Unfinished deliveries of each queue by the time of their next check, for the reconciler.
CREATE INDEX deliveries_unfinished ON deliveries (queue, (coalesce(check_at, next_retry_at, started_at)))
    WHERE status IN ('pending', 'retrying') AND coalesce(check_at, next_retry_at, started_at) IS NOT NULL;
-- Deliveries of a bulk replay by status.
CREATE INDEX deliveries_of_replay ON deliveries (replay_id, status) WHERE replay_id IS NOT NULL;
CALL fence('deliveries', 'store_id');

-- The turns of the resources with ordered deliveries. Of these, only the one that has the turn may be claimed or is in
-- progress; the others are held back. A transaction that queues or ends one of them locks the row until its commit.
CREATE TABLE turns (
    subscription_id text NOT NULL,
    resource        text NOT NULL,
    store_id        text NOT NULL,
    queue           text NOT NULL,            -- plan_queue of its store
    delivery_id     text NOT NULL DEFAULT '', -- that has the turn
    PRIMARY KEY (subscription_id, resource)
);
CALL fence('turns', 'store_id');

-- Gives the turns of resources to their deliveries, and returns the number of deliveries that are no longer held back.
-- The turn belongs to a delivery in progress, else to the first delivery of the smallest position, else to the replay
-- of the smallest position. A queued delivery that is being claimed or ended keeps the turn.
CREATE FUNCTION settle_turns(subscriptions text[], resources text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    released bigint := 0;
    found    bigint;
    changed  bigint;
BEGIN
    -- ON CONFLICT waits for a transaction that inserts or deletes the row, and locks it although WHERE is false. All
    -- transactions lock turns in the same order. The next statement sees the deliveries that were committed before.
    INSERT INTO turns AS t (subscription_id, resource, store_id, queue)
    SELECT line.id, line.resource, s.store_id, store.queue
    FROM (SELECT DISTINCT id, resource FROM unnest(subscriptions, resources) AS u (id, resource)) line
        JOIN subscriptions s ON s.id = line.id
        CROSS JOIN LATERAL (
            SELECT plan_queue(queue_of(st), st.id) AS queue FROM stores st WHERE st.id = s.store_id OFFSET 0) store
    ORDER BY line.id, line.resource
    ON CONFLICT (subscription_id, resource) DO UPDATE SET delivery_id = t.delivery_id WHERE false;
    LOOP
        WITH line AS MATERIALIZED (
            SELECT t.subscription_id, t.resource, t.delivery_id AS holder, holder.id IS NOT NULL AS holder_waits,
                next.id AS next, next.is_held
            FROM (SELECT DISTINCT id, resource FROM unnest(subscriptions, resources) AS u (id, resource)) u
                CROSS JOIN LATERAL (
                    SELECT * FROM turns t WHERE t.subscription_id = u.id AND t.resource = u.resource OFFSET 0) t
                LEFT JOIN LATERAL (
                    SELECT d.id, d.class, d.position FROM deliveries d
                    WHERE d.id = t.delivery_id AND CASE d.status WHEN 'queued' THEN d.ordered AND NOT d.held END
                ) holder ON true
                LEFT JOIN LATERAL (
                    SELECT c.id, c.is_held FROM (
                        (SELECT d.id, false AS is_held, 0 AS place, 0 AS class, d.position FROM deliveries d
                            WHERE d.subscription_id = t.subscription_id AND d.resource = t.resource AND d.ordered
                                AND d.status IN ('pending', 'retrying')
                            ORDER BY d.id <> t.delivery_id LIMIT 1)
                        UNION ALL
                        -- The bound on a row of columns keeps the planner from other indexes. The others end the scan.
                        (SELECT d.id, true, 1, d.class, d.position FROM deliveries d
                            WHERE d.status = 'queued' AND d.held
                                AND (d.queue, d.subscription_id, d.resource)
                                    >= (t.queue, t.subscription_id, t.resource)
                                AND d.queue = t.queue AND d.subscription_id = t.subscription_id
                                AND d.resource = t.resource
                            ORDER BY d.queue, d.subscription_id, d.resource, d.class, d.position LIMIT 1)
                        UNION ALL
                        (SELECT holder.id, false, 1, holder.class, holder.position WHERE holder.id IS NOT NULL)
                    ) c ORDER BY c.place, c.class, c.position, c.is_held LIMIT 1
                ) next ON true
        ), demoted AS MATERIALIZED (
            UPDATE deliveries d SET held = true FROM (
                SELECT d.id FROM line CROSS JOIN LATERAL (
                    SELECT d.id FROM deliveries d
                    WHERE d.id = line.holder AND CASE d.status WHEN 'queued' THEN NOT d.held END
                    FOR UPDATE SKIP LOCKED) d
                WHERE line.holder_waits AND line.next <> line.holder
            ) waiting WHERE d.id = waiting.id
            RETURNING d.id
        ), due AS MATERIALIZED (
            SELECT next FROM line WHERE is_held AND (NOT holder_waits OR holder IN (SELECT id FROM demoted))
        ), released AS MATERIALIZED (
            -- Due from now on: the time for which it was held back is no overload.
            UPDATE deliveries d SET held = false,
                scheduled_for = greatest(d.scheduled_for, date_trunc('milliseconds', clock_timestamp()))
            FROM (SELECT d.id FROM due CROSS JOIN LATERAL (
                    SELECT d.id FROM deliveries d
                    WHERE d.id = due.next AND CASE d.status WHEN 'queued' THEN d.held END FOR UPDATE) d
            ) waiting WHERE d.id = waiting.id
            RETURNING d.id
        ), moved AS (
            UPDATE turns t SET delivery_id = line.next FROM line
            WHERE t.subscription_id = line.subscription_id AND t.resource = line.resource AND line.next <> line.holder
                AND (NOT line.is_held OR line.next IN (SELECT id FROM released))
        ), gone AS (
            DELETE FROM turns t USING line
            WHERE t.subscription_id = line.subscription_id AND t.resource = line.resource AND line.next IS NULL
        )
        SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM released) INTO found, changed;
        released := released + changed;
        -- A delivery that was locked has ended since.
        EXIT WHEN changed = found;
    END LOOP;
    RETURN released;
END $$;

-- Settles the turns of ordered deliveries that are queued.
CREATE FUNCTION settle_queued() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subscriptions text[];
    resources     text[];
BEGIN
    SELECT array_agg(subscription_id), array_agg(resource) INTO subscriptions, resources FROM added WHERE ordered;
    IF subscriptions IS NOT NULL THEN
        PERFORM settle_turns(subscriptions, resources);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER settle_queued AFTER INSERT ON deliveries REFERENCING NEW TABLE AS added FOR EACH STATEMENT
    EXECUTE FUNCTION settle_queued();

-- Settles the turns of ordered deliveries that are queued or ended, or become ordered or unordered. The end of a
-- delivery that is held back changes no turn: it would wait for a transaction that releases it.
CREATE FUNCTION settle_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subscriptions text[];
    resources     text[];
BEGIN
    IF NOT EXISTS (SELECT FROM after WHERE ordered UNION ALL SELECT FROM before WHERE ordered) THEN
        RETURN NULL;
    END IF;
    -- A join of the two tables, planned for one row, would take quadratic time for many.
    SELECT array_agg(subscription_id), array_agg(resource) INTO subscriptions, resources FROM (
        SELECT min(subscription_id) AS subscription_id, min(resource) AS resource FROM (
            SELECT id, subscription_id, resource, NULL AS was, NULL::boolean AS was_held, status AS becomes
            FROM after WHERE ordered
            UNION ALL
            SELECT id, subscription_id, resource, status, held, NULL FROM before WHERE ordered
        ) d GROUP BY id
        -- A single row has become ordered or unordered.
        HAVING count(*) = 1 OR min(becomes) <> min(was) AND min(becomes) <> 'pending' AND CASE min(was)
            WHEN 'pending' THEN min(becomes) <> 'retrying'
            WHEN 'queued' THEN NOT bool_or(was_held) OR min(becomes) = 'retrying' ELSE true END
    ) changed;
    IF subscriptions IS NOT NULL THEN
        PERFORM settle_turns(subscriptions, resources);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER settle_changed AFTER UPDATE ON deliveries REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION settle_changed();

-- The request and the response of each attempt. The attempt of a test has no delivery, and its event has no other
-- attempts.
CREATE TABLE attempts (
    id               text PRIMARY KEY,
    store_id         text NOT NULL,
    delivery_id      text,
    subscription_id  text NOT NULL,
    event_id         text NOT NULL,
    event_type       text NOT NULL,
    is_test          boolean NOT NULL GENERATED ALWAYS AS (delivery_id IS NULL) STORED,
    number           int NOT NULL,
    status           text NOT NULL CHECK (status IN ('delivered', 'failed', 'retrying', 'dead_letter')),
    request_url      text NOT NULL DEFAULT '',
    request_headers  jsonb,
    status_code      int NOT NULL,             -- 0 = no response
    response_time_ms bigint NOT NULL,
    error            text NOT NULL,
    response_headers jsonb,
    response_body    bytea,                    -- at most the first 16 KiB
    attempted_at     timestamptz NOT NULL,
    next_retry_at    timestamptz,
    UNIQUE (delivery_id, number)
);
CREATE UNIQUE INDEX attempts_of_tests ON attempts (event_id) WHERE delivery_id IS NULL;
-- Covers the counts and the statistics of a subscription.
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id)
    INCLUDE (store_id, status, event_type, response_time_ms, is_test);
CALL fence('attempts', 'store_id');

-- The plan of each store's deliveries and their queue. It limits the starts of the queue when deliveries are claimed.
CREATE VIEW plan_queues WITH (security_invoker) AS
    SELECT s.id AS store_id, s.website_id,
        plan_queue(queue_of(s), s.id) AS queue,
        CASE WHEN s.sandbox_of IS NULL THEN w.plan ELSE 'STARTER' END AS plan
    FROM stores s JOIN websites w ON w.id = s.website_id;
GRANT SELECT ON plan_queues TO comanda_system;

-- Deliveries that have started in a window of a queue.
CREATE TABLE plan_windows (
    queue           text NOT NULL,
    starts_at       timestamptz NOT NULL,
    started         bigint NOT NULL DEFAULT 0, -- including replays
    replays_started bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, starts_at)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON plan_windows TO comanda_system;

-- Returns the key of the advisory lock for claiming from a limited queue.
CREATE FUNCTION plan_lock(queue text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended('plan/' || queue, 0)
$$;

-- Locks a limited queue against claims and returns its starts in a window, or null if another transaction has the lock.
-- The second statement reads a snapshot that is newer than the lock.
CREATE FUNCTION lock_plan(queue text, starts_at timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(plan_lock(queue)) THEN
        RETURN NULL;
    END IF;
    RETURN coalesce((SELECT w.started FROM plan_windows w
        WHERE w.queue = lock_plan.queue AND w.starts_at = lock_plan.starts_at), 0);
END $$;

-- Bulk replays: filter and progress. Cursor and position move in the transaction that lists or queues rows.
CREATE TABLE replays (
    id              text PRIMARY KEY,
    store_id        text NOT NULL REFERENCES stores,
    subscription_id text REFERENCES subscriptions, -- null = all subscriptions
    event_type      text,                          -- null = all types
    delivery_status text NOT NULL                  -- missed = events without a delivery to the webhook
        CHECK (delivery_status IN ('delivered', 'dead_letter', 'cancelled', 'missed')),
    delivery_reason text,                          -- reason of the deliveries to replay; null = all
    created_from    timestamptz NOT NULL,          -- deliveries created at or after this time
    created_to      timestamptz NOT NULL,          -- and before this time
    status          text NOT NULL CHECK (status IN ('running', 'completed', 'cancelled')),
    reason          text NOT NULL DEFAULT '',      -- reason of a cancellation
    matched         bigint NOT NULL DEFAULT 0,     -- of the listed part of the period
    replayed        bigint NOT NULL DEFAULT 0,
    skipped         bigint NOT NULL DEFAULT 0,
    listed          boolean NOT NULL DEFAULT false, -- the list is complete
    cursor          text NOT NULL DEFAULT '',      -- of the list: last delivery; for missed events, a position
    position        bigint NOT NULL DEFAULT 0,     -- of the last queued row of the list
    created_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    CHECK ((status = 'running') = (ended_at IS NULL))
);
CREATE INDEX replays_of_store ON replays (store_id, id);
-- For the reconciler: bulk replays whose workflow may be lost.
CREATE INDEX replays_running ON replays (created_at, id) WHERE status = 'running';
CALL fence('replays', 'store_id');

-- The lists of running bulk replays: deliveries, or missed events, that will be queued in the order of their positions.
CREATE TABLE replay_items (
    replay_id text NOT NULL REFERENCES replays ON DELETE CASCADE,
    store_id  text NOT NULL,
    position  bigint NOT NULL, -- of the event
    id        text NOT NULL,   -- delivery or missed event
    PRIMARY KEY (replay_id, position, id)
);
CALL fence('replay_items', 'store_id');

-- Jobs: work that a transaction enqueues and a workflow does. A row is deleted when its workflow has started.
CREATE TABLE jobs (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    queue       text NOT NULL,       -- store_queue of its store
    kind        text NOT NULL,
    subject     text NOT NULL,
    urgent      boolean NOT NULL,    -- it does not wait for jobs that are not urgent
    created_at  timestamptz NOT NULL,
    lease_until timestamptz NOT NULL -- end of the lease of a worker
);
-- For claims, which read the queues with jobs, and the oldest jobs of each.
CREATE INDEX jobs_free ON jobs (urgent, queue, lease_until, id);
-- For jobs that are enqueued only if they are not enqueued already.
CREATE INDEX jobs_of_subject ON jobs (subject, kind);
CALL fence('jobs', 'store_id');

-- Mails that a transaction has enqueued, each to one recipient. Address and text are not stored: the worker determines
-- them when it sends the mail.
CREATE TABLE mails (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    queue       text NOT NULL,         -- store_queue of its store
    kind        text NOT NULL CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated', 'password_reset',
        'customer_password_reset', 'order_reminder', 'order_cancelled', 'customer_email_change',
        'customer_email_notice')),
    subject     text NOT NULL,         -- id of its topic, such as an invitation
    recipient   text REFERENCES users, -- null = the person that the topic names
    details     jsonb NOT NULL,
    secret      bytea,                 -- encrypted token of a link, until the mail has ended
    status      text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'sent', 'obsolete', 'failed')),
    reason      text NOT NULL DEFAULT '',
    lease_until timestamptz NOT NULL,  -- end of the lease of a worker
    created_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    CHECK ((status = 'queued') = (ended_at IS NULL)),
    CHECK (secret IS NULL OR ended_at IS NULL)
);
CREATE INDEX mails_of_subject ON mails (subject) WHERE ended_at IS NULL;
-- For the notices that were enqueued for a recipient.
CREATE INDEX mails_of_recipient ON mails (store_id, recipient, kind, created_at) WHERE recipient IS NOT NULL;
-- For the reconciler: mails whose workflow may be lost.
CREATE INDEX mails_queued ON mails (queue, lease_until, id) WHERE status = 'queued';
CALL fence('mails', 'store_id');
