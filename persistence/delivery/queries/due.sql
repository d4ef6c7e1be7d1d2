-- Returns the times since which the oldest queued deliveries may start, by class and by the window of their plan: its
-- limit, or null, its starts, and its starts of replays.
--   $1 now   $2 maximum number of subscriptions with queued deliveries   $3 start of the plan's window
--   $4 limits of the plans by name; other plans are unlimited
--
-- The recursive query skips in an index from one subscription to the next. An upper bound of a row of columns would not
-- end a scan before the end of the queue.
WITH RECURSIVE queueing (queue, subscription_id) AS (
    (SELECT queue, subscription_id FROM deliveries WHERE status = 'queued' AND NOT held
        ORDER BY queue, subscription_id LIMIT 1)
    UNION ALL
    SELECT d.* FROM queueing q CROSS JOIN LATERAL (
        SELECT d.queue, d.subscription_id FROM deliveries d
        WHERE d.status = 'queued' AND NOT d.held AND (d.queue, d.subscription_id) > (q.queue, q.subscription_id)
        ORDER BY d.queue, d.subscription_id LIMIT 1) d
)
SELECT plan.most, coalesce(w.started, 0), coalesce(w.replays_started, 0), c.class, min(d.scheduled_for)
FROM (SELECT * FROM queueing LIMIT $2) q
    CROSS JOIN LATERAL (SELECT ($4::jsonb ->> coalesce(
        (SELECT plan FROM websites WHERE id = q.queue), 'STARTER'))::bigint AS most OFFSET 0) plan
    LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $3 AND plan.most IS NOT NULL
    CROSS JOIN generate_series(0, 2) AS c (class) CROSS JOIN LATERAL (
        SELECT queue, subscription_id, deliveries.class, scheduled_for FROM deliveries
        WHERE status = 'queued' AND NOT held
            AND (queue, subscription_id, deliveries.class) >= (q.queue, q.subscription_id, c.class)
        ORDER BY queue, subscription_id, deliveries.class, position, event_id LIMIT 1
    ) d
WHERE d.queue = q.queue AND d.subscription_id = q.subscription_id AND d.class = c.class AND d.scheduled_for <= $1
GROUP BY plan.most, w.started, w.replays_started, c.class
