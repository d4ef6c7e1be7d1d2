-- Reads the facts for one claim: queues with queued deliveries in turn, the windows of their plans, subscriptions of
-- these queues in turn with their health, and the oldest deliveries of each class. It reads no delivery that is held
-- back. Limits bound the rows that it reads, independent of the backlog. A queue whose plan allows no more starts is
-- only visited, and so are random ones of many sandboxes of a website. Package schedule decides.
-- A bound on a row of columns keeps the planner from indexes of some of the columns: on a fresh table it regards all
-- indexes as equal. Only lower bounds are used, with limits: an upper bound would not end a scan before its queue ends.
--
-- Each row is a subscription, active or not, with its queue. All rows begin with the last visited queue, the numbers of
-- visited queues and of their websites with starts left, and whether a queue with starts left is not read. Without
-- subscriptions, there is one row.
--   $1 last queue of the previous claim         $2 maximum number of queues
--   $3 maximum number of websites and of their queues with starts left, $4 of subscriptions
--   $5 start of the plan's window               $6 limits of the plans by name; other plans are unlimited
--   $7 last read subscription by queue, of queues with unread subscriptions
--   $8 claims of healthy, quick subscriptions   $9 claims of other subscriptions
--   $10, $11 pending deliveries of a healthy, quick subscription, and of any other subscription
--   $12 pending deliveries without a recent response, $13 in addition with each of them, at most
--   $14 time after which a response is recent   $15 response time in ms below which it is prompt
--   $16 end of the lease of young deliveries    $17 now
WITH RECURSIVE visited (queue, wrapped, n, opened, most, started, replays_started) AS (
    SELECT $1::text, false, 0, 0, NULL::bigint, NULL::bigint, NULL::bigint
    UNION ALL
    SELECT d.queue, d.wrapped, v.n + 1, v.opened + CASE WHEN p.started >= p.most
            OR v.n > 0 AND split_part(d.queue, ':', 1) = split_part(v.queue, ':', 1) THEN 0 ELSE 1 END, p.*
    FROM visited v CROSS JOIN LATERAL (
        (SELECT queue, false AS wrapped FROM deliveries
            WHERE status = 'queued' AND NOT held AND NOT v.wrapped AND queue > v.queue ORDER BY queue LIMIT 1)
        UNION ALL
        (SELECT queue, true FROM deliveries
            WHERE status = 'queued' AND NOT held AND queue > CASE WHEN v.wrapped THEN v.queue ELSE '' END
                AND queue <= $1 ORDER BY queue LIMIT 1)
        LIMIT 1
    ) d CROSS JOIN LATERAL (
        SELECT plan.most, coalesce(w.started, 0) AS started, coalesce(w.replays_started, 0)
        FROM (SELECT ($6::jsonb ->> coalesce(
                -- The queue of a sandbox is not a website.
                (SELECT plan FROM websites WHERE id = d.queue), 'STARTER'))::bigint AS most OFFSET 0) plan
            LEFT JOIN plan_windows w ON w.queue = d.queue AND w.starts_at = $5 AND plan.most IS NOT NULL
    ) p
    WHERE v.n < $2::int AND v.opened < $3::int
), free AS MATERIALIZED (
    SELECT *, split_part(queue, ':', 1) AS website -- or its sandboxes
    FROM visited WHERE n > 0 AND (most IS NULL OR started < most)
), open AS MATERIALIZED (
    SELECT *, greatest(1, $4::int / count(*) OVER ()) AS subscriptions, coalesce($7::jsonb ->> queue, '') AS after,
        most IS NOT NULL AND (SELECT count(*) FROM (
            SELECT FROM deliveries d
            WHERE d.status = 'queued' AND NOT d.held AND d.queue >= q.queue AND d.queue <= q.queue
            ORDER BY d.queue LIMIT most - started + 1) d) > most - started AS scarce
    FROM (SELECT *, row_number() OVER (PARTITION BY website ORDER BY random()) AS nth FROM free) q
    WHERE nth <= greatest(1, $3::int / (SELECT count(DISTINCT website) FROM free))
), listed AS MATERIALIZED (
    SELECT q.*, s.subscription_id, s.n = q.subscriptions AS cut FROM open q CROSS JOIN LATERAL (
        WITH RECURSIVE next (subscription_id, wrapped, n) AS (
            SELECT q.after, false, 0
            UNION ALL
            SELECT d.subscription_id, d.wrapped, p.n + 1 FROM next p CROSS JOIN LATERAL (
                (SELECT subscription_id, false AS wrapped FROM deliveries
                    WHERE status = 'queued' AND NOT held AND NOT p.wrapped
                        AND (queue, subscription_id) > (q.queue, p.subscription_id) AND queue <= q.queue
                    ORDER BY queue, subscription_id LIMIT 1)
                UNION ALL
                (SELECT subscription_id, true FROM (
                    SELECT queue, subscription_id FROM deliveries WHERE status = 'queued' AND NOT held
                        AND (queue, subscription_id) > (q.queue, CASE WHEN p.wrapped THEN p.subscription_id ELSE '' END)
                    ORDER BY queue, subscription_id LIMIT 1) d WHERE queue = q.queue AND subscription_id <= q.after)
                LIMIT 1
            ) d WHERE p.n < q.subscriptions
        )
        SELECT subscription_id, n FROM next WHERE n > 0
    ) s
), known AS MATERIALIZED (
    -- wanted is twice the subscription's share of the claim, because other subscriptions may have fewer deliveries.
    SELECT *, CASE WHEN active THEN least(CASE WHEN prompt THEN batch + 2 END, 2 + 2 * batch
        / (count(*) FILTER (WHERE first) OVER (PARTITION BY prompt) * count(*) OVER (PARTITION BY website, prompt)))
        ELSE 0 END AS wanted
    FROM (SELECT s.*, h.*, h.store_id IS NOT NULL AS active,
            row_number() OVER (PARTITION BY website, prompt) = 1 AS first,
            CASE WHEN prompt THEN $8::bigint ELSE $9::bigint END AS batch
        FROM listed s LEFT JOIN LATERAL (
            SELECT h.store_id, h.healthy, h.slow_until <= $17 AS quick, h.healthy AND h.slow_until <= $17 AS prompt
            FROM subscriptions JOIN subscription_health h ON h.subscription_id = subscriptions.id
            WHERE subscriptions.id = s.subscription_id AND subscriptions.is_claimable
            OFFSET 0) h ON true) s
)
SELECT l.queue, l.n, l.opened, (SELECT count(*) FROM free) > (SELECT count(*) FROM open), s.queue, s.most, s.started,
    s.replays_started, s.scarce, s.subscription_id, s.cut, s.active, s.healthy, s.quick, pending.n, pending.young,
    recent.n, recent.prompt, reach.n,
    queued.classes, queued.ids, queued.events, queued.positions, queued.resources, queued.due
FROM (SELECT queue, n, opened FROM visited ORDER BY n DESC LIMIT 1) l LEFT JOIN (known s
    CROSS JOIN LATERAL (
        SELECT count(*) AS n, count(*) FILTER (WHERE lease_until > $16) AS young FROM deliveries d
        WHERE d.store_id = s.store_id AND d.subscription_id = s.subscription_id AND d.status = 'pending') pending
    CROSS JOIN LATERAL (
        SELECT count(*) AS n, count(*) FILTER (WHERE response_time_ms < $15) AS prompt FROM (
            SELECT response_time_ms FROM attempts a
            WHERE a.subscription_id = s.subscription_id AND a.attempted_at > $14 ORDER BY a.attempted_at DESC
            LIMIT greatest(0, CASE WHEN NOT s.active THEN 0 WHEN NOT s.quick THEN 2 * $11::bigint
                ELSE least(pending.n + s.wanted + 1, CASE WHEN s.prompt THEN $10::bigint ELSE $11 END) - $12::bigint
                END)) a) recent
    CROSS JOIN LATERAL (
        SELECT greatest(0, least(s.wanted, $12 + $13::bigint * recent.n - pending.n)) AS n OFFSET 0) reach
    CROSS JOIN LATERAL (
        SELECT array_agg(class) AS classes, array_agg(id) AS ids, array_agg(event_id) AS events,
            array_agg(position) AS positions, array_agg(CASE WHEN ordered THEN resource ELSE '' END) AS resources,
            array_agg((extract(epoch FROM scheduled_for) * 1000000)::bigint) AS due
        FROM (SELECT d.* FROM generate_series(0, 2) AS c (n) CROSS JOIN LATERAL (
            SELECT queue, subscription_id, class, id, event_id, scheduled_for, position, ordered, resource
            FROM deliveries WHERE status = 'queued' AND NOT held
                AND (queue, subscription_id, class) >= (s.queue, s.subscription_id, c.n)
            ORDER BY queue, subscription_id, class, position, event_id LIMIT reach.n) d
            WHERE d.queue = s.queue AND d.subscription_id = s.subscription_id AND d.class = c.n) d
    ) queued) ON true
