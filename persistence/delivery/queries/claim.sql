-- Makes deliveries pending under a lease, if they are still queued and not held back, and their subscriptions are
-- claimable. It returns them with their positions in $3. It skips a delivery that another transaction has locked. CASE
-- keeps the planner from indexes of queued deliveries: it would read all of them for each claim.
--
-- Starts of a limited queue are counted in its window. Its deliveries stay queued if another relay is claiming from the
-- queue, if the window is locked, or if it has changed since it was read. A wait would delay other websites.
--   $1 start of the plan's window        $2 end of the lease
--   $3, $4 deliveries and their classes  $5 their queues, if these are limited; else null
--   $6 their bursts, or null; a burst of one delivery is none
--   $7, $8, $9 limited queues, and their starts and starts of replays as read
--   $10 time before which windows are deleted   $11 relay that claims, or null
WITH locked AS MATERIALIZED (
    SELECT q.* FROM unnest($7::text[], $8::bigint[], $9::bigint[]) AS q (queue, started, replays_started)
        CROSS JOIN LATERAL (SELECT count(*) AS n FROM plan_windows WHERE queue = q.queue AND starts_at = $1) found
    WHERE pg_try_advisory_xact_lock(plan_lock(queue)) AND n = (SELECT count(*) FROM (
        SELECT FROM plan_windows WHERE queue = q.queue AND starts_at = $1 FOR UPDATE SKIP LOCKED) w)
), taken AS MATERIALIZED (
    SELECT p.* FROM unnest($3::text[], $4::smallint[], $5::text[], $6::text[])
        WITH ORDINALITY AS p (id, class, limited, burst, position)
    CROSS JOIN LATERAL (
        SELECT FROM deliveries d WHERE d.id = p.id AND CASE d.status WHEN 'queued' THEN d.class = p.class AND NOT d.held
            AND (SELECT is_claimable FROM subscriptions WHERE id = d.subscription_id) END
        FOR UPDATE SKIP LOCKED
    ) d
    WHERE limited IS NULL OR limited IN (SELECT queue FROM locked)
), past AS (
    DELETE FROM plan_windows WHERE queue IN (SELECT queue FROM locked) AND starts_at < $10
), counted AS (
    -- The order prevents deadlocks. The condition is checked in the newest version of the row.
    INSERT INTO plan_windows AS w (queue, starts_at, started, replays_started)
    SELECT limited, $1, count(*), count(*) FILTER (WHERE class = 2) FROM taken WHERE limited IS NOT NULL
    GROUP BY limited ORDER BY limited
    ON CONFLICT (queue, starts_at) DO UPDATE
        SET started = w.started + excluded.started, replays_started = w.replays_started + excluded.replays_started
        WHERE (w.queue, w.started, w.replays_started) IN (SELECT queue, started, replays_started FROM locked)
    RETURNING queue
)
UPDATE deliveries d SET status = 'pending', lease_until = $2, relay = $11, generation = d.generation + 1,
    check_at = NULL, burst_id = CASE WHEN t.size > 1 THEN t.burst END,
    counted_in = CASE WHEN t.limited IS NOT NULL THEN $1::timestamptz END
FROM (SELECT *, count(*) OVER (PARTITION BY burst) AS size FROM taken
        WHERE limited IS NULL OR limited IN (SELECT queue FROM counted)) t,
    set_config('synchronous_commit', 'off', true)
WHERE d.id = t.id
RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.attempts - d.schedule_base,
    d.generation, split_part(d.queue, ':', 1), d.class = 2, coalesce(d.burst_id, ''), t.position
