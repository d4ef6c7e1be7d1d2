-- Claims deliveries whose workflow was not started within the lease. Websites take turns, in which a burst counts once.
--
-- A claim of a limited queue is counted in the window of the claim. If that window has passed, it counts the claim no
-- longer, since the first attempt will be made later: the delivery is queued again and will be counted in the window of
-- its next claim; if it is ordered, the trigger of the table decides whether it is held back. A burst is always
-- claimed as a whole and keeps its id, so that only its running attempts are repeated. It starts at once, because it
-- may contain deliveries of many websites, and is counted in the window of $4. What a queue has no room for there, or
-- another relay is claiming from, is counted in the next window.
--
-- A wait for a window that another transaction has locked would delay other websites: a later takeover claims the
-- deliveries of that queue, and the bursts that contain them.
--   $1 now   $2 end of the new lease   $3 maximum number of deliveries, in addition to the rest of their bursts
--   $4 start of the plan's window   $5 relay that claims   $6 maximum number of deliveries that are read
--   $7 limits of the plans by name; other plans are unlimited   $8 start of the next window
WITH lapsed AS MATERIALIZED (
    SELECT id, queue, burst_id, coalesce(burst_id, id) AS unit, lease_until,
        burst_id IS NULL AND coalesce(counted_in < $4, false) AS passed
    FROM deliveries WHERE status = 'pending' AND started_at IS NULL AND lease_until < $1
    ORDER BY lease_until LIMIT $6
), picked AS MATERIALIZED (
    SELECT id, burst_id FROM (
        SELECT min(id) AS id, burst_id,
            sum(count(*)) OVER (ORDER BY min(turn), burst_id IS NOT NULL, unit) - count(*) AS before
        FROM (SELECT *, dense_rank() OVER (PARTITION BY split_part(queue, ':', 1)
                ORDER BY lease_until, unit) AS turn
            FROM lapsed WHERE NOT passed) l
        GROUP BY unit, burst_id
    ) u WHERE before < $3
), single AS MATERIALIZED (
    SELECT d.*, s.passed FROM (
        SELECT id, false AS passed FROM picked WHERE burst_id IS NULL
        UNION ALL
        SELECT id, true FROM lapsed WHERE passed
    ) s CROSS JOIN LATERAL (
        SELECT id, queue, class, counted_in FROM deliveries d
        WHERE d.id = s.id AND CASE d.status WHEN 'pending' THEN d.started_at IS NULL AND d.lease_until < $1 END
        FOR UPDATE SKIP LOCKED
    ) d
), burst AS MATERIALIZED (
    -- Two relays must not each lock a part of the rows of one burst.
    SELECT burst_id,
        (SELECT count(*) FROM deliveries d WHERE d.burst_id = b.burst_id AND d.status = 'pending') AS pending
    FROM picked b
    WHERE burst_id IS NOT NULL AND pg_try_advisory_xact_lock(hashtextextended('burst/' || burst_id, 0))
), locked AS MATERIALIZED (
    -- A locked row means that an attempt or a start of the burst is being recorded, so the burst runs. Waiting for
    -- the lock could deadlock. A lapsed lease is checked again in the locked rows: another relay may have claimed the
    -- burst after this statement began.
    SELECT burst_id, id, queue, counted_in, passed FROM (
        SELECT burst.burst_id, d.id, d.queue, d.counted_in, d.passed, burst.pending, count(*) OVER burst AS locked,
            bool_or(d.lapsed) OVER burst AS lapsed
        FROM burst CROSS JOIN LATERAL (
            SELECT id, queue, counted_in, started_at IS NULL AND lease_until < $1 AS lapsed,
                started_at IS NULL AND coalesce(counted_in < $4, false) AS passed FROM deliveries
            WHERE burst_id = burst.burst_id AND status = 'pending' FOR UPDATE SKIP LOCKED
        ) d WINDOW burst AS (PARTITION BY burst.burst_id)
    ) d WHERE locked = pending AND lapsed
), moving AS MATERIALIZED (
    -- Windows of the claims that move, and those that may count them from now on.
    SELECT d.queue, bool_and(n = (SELECT count(*) FROM (SELECT FROM plan_windows
            WHERE queue = d.queue AND starts_at = d.starts_at FOR UPDATE SKIP LOCKED) w)) AS is_free
    FROM (
        SELECT queue, counted_in AS starts_at FROM single WHERE passed
        UNION
        SELECT queue, unnest(ARRAY[counted_in, $4, $8::timestamptz]) FROM locked WHERE passed
    ) d CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM plan_windows WHERE queue = d.queue AND starts_at = d.starts_at) found
    GROUP BY d.queue
), freed AS MATERIALIZED (
    SELECT id, queue, class, counted_in FROM single JOIN moving USING (queue) WHERE passed AND is_free
), whole_burst AS MATERIALIZED (
    SELECT l.* FROM locked l WHERE NOT EXISTS (SELECT FROM locked o JOIN moving m USING (queue)
        WHERE o.burst_id = l.burst_id AND o.passed AND NOT m.is_free)
), room AS MATERIALIZED (
    SELECT queue, coalesce(($7::jsonb ->> coalesce((SELECT plan FROM websites WHERE id = queue), 'STARTER'))::numeric,
        'infinity') - lock_plan(queue, $4) AS free
    FROM (SELECT DISTINCT queue FROM whole_burst WHERE passed) q
), fitting AS (
    SELECT burst_id, queue, passed,
        passed AND coalesce(sum(count(*)) OVER (PARTITION BY queue, passed ORDER BY burst_id) <= free, false) AS fits
    FROM whole_burst LEFT JOIN room USING (queue) GROUP BY burst_id, queue, passed, free
), whole AS MATERIALIZED (
    SELECT id, NULL AS queue, NULL::timestamptz AS counted_in FROM single WHERE NOT passed
    UNION ALL
    SELECT id, queue, CASE WHEN fits THEN $4 WHEN passed THEN $8::timestamptz END
    FROM whole_burst JOIN fitting USING (burst_id, queue, passed)
), past AS MATERIALIZED (
    -- A burst contains no replays.
    SELECT queue, counted_in, count(*) AS started, count(*) FILTER (WHERE class = 2) AS replays FROM (
        SELECT queue, counted_in, class FROM freed
        UNION ALL
        SELECT queue, counted_in, 0 FROM whole_burst WHERE passed
    ) d GROUP BY queue, counted_in
), uncounted AS (
    UPDATE plan_windows w SET started = w.started - p.started, replays_started = w.replays_started - p.replays
    FROM past p WHERE w.queue = p.queue AND w.starts_at = p.counted_in
), queued AS (
    UPDATE deliveries d SET status = 'queued', held = d.ordered, lease_until = NULL
    FROM freed WHERE d.id = freed.id
), counted AS (
    INSERT INTO plan_windows AS w (queue, starts_at, started, replays_started)
    SELECT queue, counted_in, count(*), 0 FROM whole WHERE counted_in IS NOT NULL
    GROUP BY queue, counted_in ORDER BY queue, counted_in
    ON CONFLICT (queue, starts_at) DO UPDATE SET started = w.started + excluded.started
)
UPDATE deliveries d SET lease_until = $2, relay = $5, generation = d.generation + 1,
    counted_in = coalesce(whole.counted_in, d.counted_in)
FROM whole WHERE d.id = whole.id
RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.attempts - d.schedule_base,
    d.generation, split_part(d.queue, ':', 1), d.class = 2, coalesce(d.burst_id, ''),
    d.counted_in IS NOT NULL,
    EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.slow_until <= $1),
    EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.healthy)
