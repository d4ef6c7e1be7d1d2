-- Events. Each row is written in the transaction of its change. The relay dispatches it to deliveries and sets
-- dispatched_at.
CREATE TABLE outbox (
    id            text PRIMARY KEY,
    store_id      text NOT NULL,
    type          text NOT NULL,
    body          text,                 -- bytes of the envelope; null = erased
    occurred_at   timestamptz NOT NULL,
    dispatched_at timestamptz
);
CREATE INDEX outbox_waiting ON outbox (id) WHERE dispatched_at IS NULL;
CALL fence('outbox', 'store_id');

CREATE TABLE subscriptions (
    id         text PRIMARY KEY,
    store_id   text NOT NULL REFERENCES stores,
    url        text NOT NULL,
    events     text[] NOT NULL,
    secret     bytea NOT NULL,          -- encrypted
    is_active  boolean NOT NULL DEFAULT true,
    version    bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
);
CREATE INDEX subscriptions_of_store ON subscriptions (store_id, created_at, id) WHERE deleted_at IS NULL;
CALL fence('subscriptions', 'store_id');

-- Health of a subscription's receiver. It is separate from subscriptions, and a success of a healthy subscription does
-- not change it, so that the deliveries of a busy subscription do not all write one row.
CREATE TABLE subscription_health (
    subscription_id text PRIMARY KEY REFERENCES subscriptions,
    store_id        text NOT NULL,
    failure_count   bigint NOT NULL DEFAULT 0, -- consecutive failed attempts
    failing_since   timestamptz,               -- time of the first of them
    slow_seen_at    timestamptz                -- time of the last slow response; null = no recent slow response
);
CALL fence('subscription_health', 'store_id');

-- One event for one subscription. Like attempts it has no foreign keys: dispatch inserts rows from a join, and a
-- foreign key would lock the row of the subscription for each of them.
CREATE TABLE deliveries (
    id              text PRIMARY KEY,
    store_id        text NOT NULL,
    event_id        text NOT NULL,
    subscription_id text NOT NULL,
    event_type      text NOT NULL,
    status          text NOT NULL
        CHECK (status IN ('queued', 'pending', 'retrying', 'delivered', 'dead_letter', 'cancelled')),
    reason          text NOT NULL DEFAULT '',
    attempts        int NOT NULL DEFAULT 0,
    replays         int NOT NULL DEFAULT 0,
    scheduled_for   timestamptz NOT NULL,      -- earliest start
    lease_until     timestamptz,               -- end of the lease of a relay
    started_at      timestamptz,               -- time at which the start of the workflow was recorded
    next_retry_at   timestamptz,
    created_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    UNIQUE (event_id, subscription_id)
);
CREATE INDEX deliveries_of_store ON deliveries (store_id, id);
CREATE INDEX deliveries_of_subscription ON deliveries (subscription_id, id);
CREATE INDEX deliveries_queued ON deliveries (subscription_id, scheduled_for, id) WHERE status = 'queued';
CREATE INDEX deliveries_pending ON deliveries (subscription_id) WHERE status = 'pending';
CREATE INDEX deliveries_leased ON deliveries (lease_until) WHERE status = 'pending' AND started_at IS NULL;
CALL fence('deliveries', 'store_id');

CREATE TABLE attempts (
    id               text PRIMARY KEY,
    store_id         text NOT NULL,
    delivery_id      text NOT NULL,
    subscription_id  text NOT NULL,
    event_id         text NOT NULL,
    event_type       text NOT NULL,
    number           int NOT NULL,
    status           text NOT NULL CHECK (status IN ('delivered', 'failed', 'retrying', 'dead_letter')),
    status_code      int NOT NULL,             -- 0 = no response
    response_time_ms bigint NOT NULL,
    error            text NOT NULL,
    response_headers jsonb,
    response_body    bytea,                    -- at most the first 16 KiB
    next_retry_at    timestamptz,
    attempted_at     timestamptz NOT NULL,
    UNIQUE (delivery_id, number)
);
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id);
CALL fence('attempts', 'store_id');
