-- Queues deliveries again whose workflows were not started, and removes them from the plan windows that count them. It
-- skips a claim that has been started or followed by another claim. CASE has the same reason as in mark_started.sql.
-- An ordered delivery is held back until the trigger of the table has given the turn, which another one may have.
--   $1 deliveries   $2 generations of their claims
WITH waiting AS MATERIALIZED (
    SELECT d.* FROM unnest($1::text[], $2::int[]) AS c (id, generation) CROSS JOIN LATERAL (
        SELECT d.id, d.queue, d.class, d.counted_in FROM deliveries d
        WHERE d.id = c.id AND d.generation = c.generation AND CASE d.status WHEN 'pending' THEN d.started_at IS NULL END
        FOR UPDATE SKIP LOCKED) d
), counted AS MATERIALIZED (
    -- The order prevents deadlocks.
    SELECT w.queue, w.starts_at, n.started, n.replays FROM (
        SELECT queue, counted_in, count(*) AS started, count(*) FILTER (WHERE class = 2) AS replays
        FROM waiting WHERE counted_in IS NOT NULL GROUP BY queue, counted_in ORDER BY queue, counted_in
    ) n CROSS JOIN LATERAL (
        SELECT queue, starts_at FROM plan_windows WHERE queue = n.queue AND starts_at = n.counted_in FOR UPDATE
    ) w
), uncounted AS (
    UPDATE plan_windows w SET started = w.started - c.started, replays_started = w.replays_started - c.replays
    FROM counted c WHERE w.queue = c.queue AND w.starts_at = c.starts_at
)
UPDATE deliveries d SET status = 'queued', held = d.ordered, lease_until = NULL, burst_id = NULL
FROM waiting WHERE d.id = waiting.id
