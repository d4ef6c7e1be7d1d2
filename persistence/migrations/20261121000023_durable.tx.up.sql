-- The watchdog's notes on a receiver that fails. failing_days counts for the streak of
-- failures that began at watched_since and for no other, so nothing has to clear it.
ALTER TABLE subscription_health
    ADD watch_at      timestamptz,            -- when the watchdog looks next; null = none is in charge
    ADD watched_since timestamptz,            -- failing_since of the streak that it has begun to count
    ADD watched_until timestamptz,            -- the end of the last day that it has looked at
    ADD failing_days  int NOT NULL DEFAULT 0; -- of these days those with a failed attempt

-- Bulk replays: what is to be delivered once more, and how far that has come. The cursor
-- moves in the transaction that queues the deliveries before it.
CREATE TABLE replays (
    id              text PRIMARY KEY,
    store_id        text NOT NULL REFERENCES stores,
    subscription_id text REFERENCES subscriptions, -- null = of every subscription
    event_type      text,                          -- null = of every type
    delivery_status text NOT NULL CHECK (delivery_status IN ('delivered', 'dead_letter', 'cancelled')),
    created_from    timestamptz NOT NULL,          -- deliveries made from then on
    created_to      timestamptz NOT NULL,          -- and before that
    status          text NOT NULL CHECK (status IN ('running', 'completed', 'cancelled')),
    reason          text NOT NULL DEFAULT '',      -- why it was cancelled
    matched         bigint NOT NULL,
    replayed        bigint NOT NULL DEFAULT 0,
    skipped         bigint NOT NULL DEFAULT 0,
    cursor          text NOT NULL DEFAULT '',      -- the last delivery that it has looked at
    created_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    CHECK ((status = 'running') = (ended_at IS NULL))
);
CREATE INDEX replays_of_store ON replays (store_id, id);
CALL fence('replays', 'store_id');

ALTER TABLE deliveries ADD replay_id text; -- the bulk replay that queued it last
CREATE INDEX deliveries_replaying ON deliveries (replay_id) WHERE replay_id IS NOT NULL AND status IN ('queued', 'pending');
CREATE INDEX deliveries_dead_letters ON deliveries (store_id, id) WHERE status = 'dead_letter';

-- Erasure. Bodies that are still kept are found by their age; what is older than the log
-- is found at the beginning of each primary key, since ids sort by time.
CREATE INDEX outbox_kept ON outbox (occurred_at, id) WHERE body IS NOT NULL;
GRANT DELETE ON sessions TO comanda_system;
