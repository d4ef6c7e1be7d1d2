-- Takes over deliveries whose workflow was not started within the lease.
--
-- A claim of a limited queue counted in the window in which it was made. If that has passed, the delivery is queued
-- again and counts where it starts. A burst is always taken over as a whole, under its own id, so that only the
-- attempts in flight are repeated.
--   $1 now   $2 end of the new lease   $3 most deliveries, beside the rest of their bursts
--   $4 start of the plan's window
WITH lapsed AS MATERIALIZED (
    SELECT id, burst_id FROM deliveries WHERE status = 'pending' AND started_at IS NULL AND lease_until < $1
    ORDER BY lease_until LIMIT $3
), single AS MATERIALIZED (
    SELECT d.id, coalesce(d.counted_in < $4, false) AS passed FROM lapsed CROSS JOIN LATERAL (
        SELECT id, counted_in FROM deliveries d
        WHERE d.id = lapsed.id AND d.status = 'pending' AND d.started_at IS NULL AND d.lease_until < $1
        FOR UPDATE SKIP LOCKED
    ) d WHERE lapsed.burst_id IS NULL
), burst AS MATERIALIZED (
    -- Two relays must not lock the rows of one burst in parts.
    SELECT burst_id,
        (SELECT count(*) FROM deliveries d WHERE d.burst_id = b.burst_id AND d.status = 'pending') AS pending
    FROM (SELECT DISTINCT burst_id FROM lapsed WHERE burst_id IS NOT NULL) b
    WHERE pg_try_advisory_xact_lock(hashtextextended('burst/' || burst_id, 0))
), whole AS MATERIALIZED (
    SELECT id FROM single WHERE NOT passed
    UNION ALL
    -- If a row is locked, somebody is recording an attempt or a start of the burst: it runs. To wait could deadlock.
    SELECT id FROM (
        SELECT d.id, burst.pending, count(*) OVER (PARTITION BY burst.burst_id) AS locked
        FROM burst CROSS JOIN LATERAL (
            SELECT id FROM deliveries WHERE burst_id = burst.burst_id AND status = 'pending' FOR UPDATE SKIP LOCKED) d
    ) d WHERE locked = pending
), queued AS (
    UPDATE deliveries d SET status = 'queued', lease_until = NULL, counted_in = NULL
    FROM single WHERE d.id = single.id AND single.passed
)
UPDATE deliveries d SET lease_until = $2, generation = d.generation + 1
FROM whole WHERE d.id = whole.id
RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.attempts - d.schedule_base,
    d.generation, coalesce(d.queue, ''), d.class = 2, coalesce(d.burst_id, ''),
    EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.quick),
    EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.healthy)
