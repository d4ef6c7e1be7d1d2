-- Returns the plan of a store's queue, its starts in a window, the replays among these, and the numbers of queued
-- deliveries that are not held back: all, those of customer.* events, and replays.
--   $1 store   $2 start of the window
SELECT q.plan, coalesce(w.started, 0), coalesce(w.replays_started, 0), d.waiting, d.customers, d.replays
FROM plan_queues q LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $2
    CROSS JOIN LATERAL (
        SELECT count(*) AS waiting, count(*) FILTER (WHERE d.class = 1) AS customers,
            count(*) FILTER (WHERE d.class = 2) AS replays
        FROM deliveries d WHERE d.queue = q.queue AND d.status = 'queued' AND NOT d.held AND q.plan <> 'ENTERPRISE') d
WHERE q.store_id = $1
