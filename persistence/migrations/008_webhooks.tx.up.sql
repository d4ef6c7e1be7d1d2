-- Webhooks: events, and the subscriptions that receive them.

-- Events. Each row is written in the transaction of its change.
CREATE TABLE outbox (
    id            text PRIMARY KEY,
    -- Order of the events of a resource. Each is inserted under the lock of the resource's row, and numbers are not
    -- cached, so that they follow the commits.
    number        bigint NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
    store_id      text NOT NULL,
    type          text NOT NULL,
    -- Order (also of a payment), customer, reservation or product; '' for test.ping.
    subject       text NOT NULL DEFAULT '',
    body          text,        -- bytes of the envelope; null = erased
    trace_context text         -- traceparent of the request (W3C Trace Context), which attempts continue; null = none
        CHECK (length(trace_context) <= 128),
    occurred_at   timestamptz NOT NULL,
    erasing       text         -- customer or reservation whose erasure erases the body after its last delivery
);
CREATE INDEX outbox_of_subject ON outbox (subject);
CREATE INDEX outbox_erasing ON outbox (erasing, id) WHERE erasing IS NOT NULL;
CREATE INDEX outbox_kept ON outbox (occurred_at, id) WHERE body IS NOT NULL; -- for the erasure of bodies by age
CALL fence('outbox', 'store_id');

-- The events of the outbox that wait for dispatch. The dispatch deletes the row instead of updating the event, which
-- would copy its body.
CREATE TABLE undispatched (
    queue       text NOT NULL, -- store_queue of its store
    store_id    text NOT NULL,
    number      bigint NOT NULL, -- of the event in the outbox
    event_id    text NOT NULL,
    type        text NOT NULL,
    occurred_at timestamptz NOT NULL,
    PRIMARY KEY (queue, store_id, number)
);
CALL fence('undispatched', 'store_id');

-- The dispatched events of a store in the order of their dispatch, for lists and streams.
CREATE TABLE event_log (
    id       text PRIMARY KEY,      -- of the event
    store_id text NOT NULL,
    position bigint NOT NULL,       -- ascending, see event_position
    type     text NOT NULL,
    UNIQUE (store_id, position)
);
CREATE INDEX event_log_of_type ON event_log (store_id, type, position);
CALL fence('event_log', 'store_id');

-- The last position of each store. The lock of its row lasts until the commit, so that the positions of a store become
-- visible in ascending order.
CREATE TABLE event_heads (
    store_id text PRIMARY KEY,
    position bigint NOT NULL,
    previous bigint NOT NULL,          -- position before the last dispatch
    taken    bigint NOT NULL,          -- number of events of the last dispatch
    erased   bigint NOT NULL DEFAULT 0 -- highest position of an erased event
) WITH (fillfactor = 50);
CALL fence('event_heads', 'store_id');

-- Returns the first position of a millisecond. The position of an event is that of its time, or the next free one if an
-- event of a later time was dispatched before it. Thus a period is a range of positions, and a restored backup does not
-- give positions again that it does not contain. Positions are less than 2^53 until the year 2109, so that JavaScript
-- represents them exactly.
CREATE FUNCTION event_position(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (extract(epoch FROM at) * 1000)::bigint << 11
$$;

-- Reports whether a subscription with these events selects a type. * selects all types.
CREATE FUNCTION selects(events text[], type text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT type = ANY (events) OR '*' = ANY (events)
$$;

CREATE TABLE subscriptions (
    id                    text PRIMARY KEY,
    store_id              text NOT NULL REFERENCES stores,
    url                   text NOT NULL,
    description           text NOT NULL DEFAULT '',
    events                text[] NOT NULL,
    secret                bytea NOT NULL,               -- encrypted
    previous_secret       bytea,                        -- encrypted; valid until previous_secret_until; null = none
    previous_secret_until timestamptz,
    filter                text,                         -- CEL expression that events must match; null = none
    ordering              text NOT NULL DEFAULT 'none' CHECK (ordering IN ('none', 'resource')),
    reordering            boolean NOT NULL DEFAULT false, -- a job applies a changed ordering to unfinished deliveries
    headers               bytea,                        -- further request headers: sealed JSON, value by name
    header_names          text[] NOT NULL DEFAULT '{}', -- their names, which clients see
    is_active             boolean NOT NULL DEFAULT true,
    version               bigint NOT NULL DEFAULT 1,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    -- The only definition of a subscription whose deliveries may be claimed. While its deliveries become ordered, one
    -- that must wait may not be held back yet.
    is_claimable          boolean NOT NULL GENERATED ALWAYS AS (is_active AND deleted_at IS NULL
        AND NOT (reordering AND ordering = 'resource')) STORED
);
CREATE INDEX subscriptions_of_store ON subscriptions (store_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_rotating ON subscriptions (previous_secret_until) WHERE previous_secret_until IS NOT NULL;
-- For the reconciler: subscriptions whose teardown, deactivation or reordering may be lost.
CREATE INDEX subscriptions_deleted ON subscriptions (deleted_at, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX subscriptions_inactive ON subscriptions (updated_at, id) WHERE NOT is_active AND deleted_at IS NULL;
CREATE INDEX subscriptions_reordering ON subscriptions (updated_at, id) WHERE reordering AND deleted_at IS NULL;
CALL fence('subscriptions', 'store_id');

-- Health of a subscription's receiver. It is separate from subscriptions, and a success of a healthy subscription does
-- not change it, so that the deliveries of a busy subscription do not all write one row. failing_days belongs to the
-- streak of failures that began at watched_since, so it need not be cleared.
CREATE TABLE subscription_health (
    subscription_id text PRIMARY KEY REFERENCES subscriptions,
    store_id        text NOT NULL,
    failure_count   bigint NOT NULL DEFAULT 0,  -- consecutive failed attempts
    failing_since   timestamptz,                -- time of the first of them
    slow_until      timestamptz NOT NULL DEFAULT '-infinity', -- until then it is slow, from then on quick
    watch_at        timestamptz,                -- next tick of the watchdog; null = no watchdog
    watched_since   timestamptz,                -- failing_since of the counted streak
    watched_until   timestamptz,                -- end of the last day that was checked
    failing_days    int NOT NULL DEFAULT 0,     -- checked days with a failed attempt
    last_attempt_at timestamptz,                -- time of the last attempt, once it is erased
    filter_error          text,                     -- last failed evaluation of the filter; null = none
    filter_error_event    text,
    filter_error_at       timestamptz,
    healthy         boolean NOT NULL GENERATED ALWAYS AS (failure_count = 0) STORED -- no failing streak
);
CALL fence('subscription_health', 'store_id');
