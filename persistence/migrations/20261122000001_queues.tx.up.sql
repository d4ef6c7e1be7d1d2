-- The plan is enforced when a delivery is claimed. A queued delivery has no slot; it waits in the queue of its website
-- or of its sandbox.
ALTER TABLE deliveries
    ADD queue         text,                            -- plan_queues.queue of its store
    ADD class         smallint NOT NULL DEFAULT 0      -- 0 = first delivery, 1 = of a customer.* event, 2 = replay
        CHECK (class BETWEEN 0 AND 2),
    ADD generation    int NOT NULL DEFAULT 0,          -- number of claims so far
    ADD schedule_base int NOT NULL DEFAULT 0,          -- attempts made before the current schedule began
    ADD burst_id      text,                            -- burst that makes or made the first attempt
    ADD counted_in    timestamptz,                     -- window that counts the claim; null = unlimited plan
    ADD check_at      timestamptz;                     -- time of the next check by the reconciler

-- Forced row-level security also applies to the owner, so it is disabled for the backfill in this transaction.
ALTER TABLE deliveries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE attempts NO FORCE ROW LEVEL SECURITY;
ALTER TABLE stores NO FORCE ROW LEVEL SECURITY;
UPDATE deliveries d SET
    queue = CASE WHEN s.sandbox_of IS NULL THEN s.website_id ELSE s.id END,
    class = CASE WHEN d.replays > 0 THEN 2 WHEN d.event_type LIKE 'customer.%' THEN 1 ELSE 0 END,
    schedule_base = CASE WHEN d.replays = 0 THEN 0 WHEN d.status = 'retrying' THEN
        -- The schedule before the replay ended with a delivered attempt or a dead letter.
        (SELECT coalesce(max(a.number), 0) FROM attempts a
            WHERE a.delivery_id = d.id AND a.status IN ('delivered', 'dead_letter'))
        ELSE d.attempts END
FROM stores s WHERE s.id = d.store_id AND d.status IN ('queued', 'pending', 'retrying');
ALTER TABLE deliveries FORCE ROW LEVEL SECURITY;
ALTER TABLE attempts FORCE ROW LEVEL SECURITY;
ALTER TABLE stores FORCE ROW LEVEL SECURITY;

-- Sets the new columns for the previous release, which does not write them: the queue and class of new deliveries, the
-- start of a replay's schedule, and the number of claims.
CREATE FUNCTION enter_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.queue IS NULL THEN
        SELECT CASE WHEN s.sandbox_of IS NULL THEN s.website_id ELSE s.id END INTO NEW.queue
            FROM stores s WHERE s.id = NEW.store_id;
        NEW.class := CASE WHEN NEW.replays > 0 THEN 2 WHEN NEW.event_type LIKE 'customer.%' THEN 1 ELSE 0 END;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.replays > OLD.replays THEN
        NEW.class := 2;
        NEW.schedule_base := NEW.attempts;
        NEW.burst_id := NULL;
        NEW.check_at := NULL;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.status = 'queued' AND NEW.status = 'pending' AND NEW.generation = OLD.generation THEN
        NEW.generation := NEW.generation + 1;
        NEW.counted_in := NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER enter_queue BEFORE INSERT ON deliveries
    FOR EACH ROW WHEN (NEW.queue IS NULL) EXECUTE FUNCTION enter_queue();
CREATE TRIGGER reenter_queue BEFORE UPDATE OF status ON deliveries
    FOR EACH ROW WHEN (NEW.queue IS NULL OR NEW.replays > OLD.replays
        OR OLD.status = 'queued' AND NEW.status = 'pending' AND NEW.generation = OLD.generation)
    EXECUTE FUNCTION enter_queue();

-- For claims, which read the queues with waiting deliveries, their subscriptions, and the oldest events of each.
CREATE INDEX deliveries_claimable ON deliveries (queue, subscription_id, class, event_id) WHERE status = 'queued';
-- Unfinished deliveries of a burst whose relay or worker has crashed.
CREATE INDEX deliveries_of_burst ON deliveries (burst_id) WHERE burst_id IS NOT NULL AND status = 'pending';
-- Unfinished deliveries by the time of their next check, for the reconciler.
CREATE INDEX deliveries_unfinished ON deliveries ((coalesce(check_at, next_retry_at, started_at)))
    WHERE status IN ('pending', 'retrying') AND coalesce(check_at, next_retry_at, started_at) IS NOT NULL;

-- The only definitions of healthy and quick.
ALTER TABLE subscription_health
    ADD healthy boolean NOT NULL GENERATED ALWAYS AS (failure_count = 0) STORED,   -- no failing streak
    ADD quick   boolean NOT NULL GENERATED ALWAYS AS (slow_seen_at IS NULL) STORED; -- no recent slow response
