-- Returns the limit of a store's queue, the starts and the starts of replays in a window, the classes of the queued
-- deliveries that can be claimed, oldest first, as one digit each, and the given deliveries among them with their
-- positions in this line. No row means that the plan is unlimited.
--   $1 store   $2 start of the window   $3 deliveries   $4 limits of the plans by name; other plans are unlimited
--   $5 maximum number of deliveries of the queue that are read in addition to $3
WITH queue AS MATERIALIZED (
    SELECT q.queue, p.most, coalesce(w.started, 0) AS started, coalesce(w.replays_started, 0) AS replays_started
    FROM plan_queues q CROSS JOIN LATERAL (SELECT ($4::jsonb ->> q.plan)::bigint AS most OFFSET 0) p
        LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $2
    WHERE q.store_id = $1 AND p.most IS NOT NULL
), line AS MATERIALIZED (
    SELECT d.class, given.id AS given, row_number() OVER (ORDER BY d.position, d.event_id, d.id) AS position
    FROM queue CROSS JOIN LATERAL (
        (SELECT id, class, position, event_id, subscription_id FROM deliveries
            WHERE status = 'queued' AND NOT held AND queue = queue.queue LIMIT $5)
        UNION
        (SELECT id, class, position, event_id, subscription_id FROM deliveries
            WHERE id = ANY ($3) AND status = 'queued' AND NOT held AND queue = queue.queue)
    ) d JOIN subscriptions s ON s.id = d.subscription_id AND s.is_claimable
        LEFT JOIN unnest($3::text[]) AS given (id) ON given.id = d.id
)
SELECT queue.most, queue.started, queue.replays_started, l.classes, l.given, l.positions
FROM queue CROSS JOIN (
    SELECT string_agg(class::text, '' ORDER BY position) AS classes,
        array_agg(given ORDER BY position) FILTER (WHERE given IS NOT NULL) AS given,
        array_agg(position ORDER BY position) FILTER (WHERE given IS NOT NULL) AS positions
    FROM line) l
