-- The plan of a store's queue, its starts in a window, those of replays among them, and the deliveries that wait.
--   $1 store   $2 start of the window
SELECT q.plan, coalesce(w.started, 0), coalesce(w.replays_started, 0),
    CASE WHEN q.plan = 'ENTERPRISE' THEN 0 ELSE
        (SELECT count(*) FROM deliveries d WHERE d.queue = q.queue AND d.status = 'queued') END
FROM plan_queues q LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $2
WHERE q.store_id = $1
