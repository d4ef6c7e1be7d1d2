-- Returns the plan of a store's queue, its starts in a window, the replays among these, and the numbers of queued
-- deliveries that can be claimed: all, those of customer.* events, and replays.
--   $1 store   $2 start of the window
SELECT q.plan, coalesce(w.started, 0), coalesce(w.replays_started, 0), d.waiting, d.customers, d.replays
FROM plan_queues q LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $2
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(d.n), 0)::bigint AS waiting, coalesce(sum(d.n) FILTER (WHERE d.class = 1), 0)::bigint
            AS customers, coalesce(sum(d.n) FILTER (WHERE d.class = 2), 0)::bigint AS replays
        FROM (
            SELECT subscription_id, class, count(*) AS n FROM deliveries
            WHERE queue = q.queue AND status = 'queued' AND NOT held AND q.plan <> 'ENTERPRISE'
            GROUP BY subscription_id, class
        ) d WHERE (SELECT is_claimable FROM subscriptions WHERE id = d.subscription_id)) d
WHERE q.store_id = $1
