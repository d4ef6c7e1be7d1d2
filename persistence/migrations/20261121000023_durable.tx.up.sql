-- State of the watchdog of a failing subscription. failing_days belongs to the streak of failures that began at
-- watched_since, so it need not be cleared.
ALTER TABLE subscription_health
    ADD watch_at      timestamptz,            -- next tick of the watchdog; null = no watchdog
    ADD watched_since timestamptz,            -- failing_since of the counted streak
    ADD watched_until timestamptz,            -- end of the last day that was checked
    ADD failing_days  int NOT NULL DEFAULT 0; -- checked days with a failed attempt

-- Bulk replays: filter and progress. The cursor moves in the transaction that queues the deliveries before it.
CREATE TABLE replays (
    id              text PRIMARY KEY,
    store_id        text NOT NULL REFERENCES stores,
    subscription_id text REFERENCES subscriptions, -- null = all subscriptions
    event_type      text,                          -- null = all types
    delivery_status text NOT NULL CHECK (delivery_status IN ('delivered', 'dead_letter', 'cancelled')),
    created_from    timestamptz NOT NULL,          -- deliveries created at or after this time
    created_to      timestamptz NOT NULL,          -- and before this time
    status          text NOT NULL CHECK (status IN ('running', 'completed', 'cancelled')),
    reason          text NOT NULL DEFAULT '',      -- reason of a cancellation
    matched         bigint NOT NULL,
    replayed        bigint NOT NULL DEFAULT 0,
    skipped         bigint NOT NULL DEFAULT 0,
    cursor          text NOT NULL DEFAULT '',      -- last delivery that was checked
    created_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    CHECK ((status = 'running') = (ended_at IS NULL))
);
CREATE INDEX replays_of_store ON replays (store_id, id);
CALL fence('replays', 'store_id');

ALTER TABLE deliveries ADD replay_id text; -- last bulk replay that queued the delivery
CREATE INDEX deliveries_replaying ON deliveries (replay_id) WHERE replay_id IS NOT NULL
    AND status IN ('queued', 'pending');
CREATE INDEX deliveries_dead_letters ON deliveries (store_id, id) WHERE status = 'dead_letter';

-- For the erasure of bodies by age. Expired rows are found at the beginning of each primary key, because ids sort by
-- time.
CREATE INDEX outbox_kept ON outbox (occurred_at, id) WHERE body IS NOT NULL;
GRANT DELETE ON sessions TO comanda_system;
