-- Claims queued deliveries: makes them pending under a lease. Websites take turns, and so do the subscriptions of a
-- website. The limits bound the part of the queues that is read, independent of their size.
--
-- A limited queue, whose plan limits its starts, is claimed only if $6 contains it: then the transaction has locked it
-- and counts its claims. If $6 is null, nothing is claimed while a limited queue has starts left. The first row returns
-- these queues and the position of the next claim. Every other row is a claim. Claims should start in the returned
-- order.
--   $1 now                                      $2 end of the lease
--   $3 last queue of the previous claim         $4 maximum number of queues with starts left
--   $5 maximum number of subscriptions          $6 locked queues, or null
--   $7 start of the plan's window               $8, $9 names and limits of the plans; null is unlimited
--   $10 claims of healthy, quick subscriptions  $11 the same as bursts  $12 claims of other subscriptions
--   $13 pending deliveries of a subscription without recent responses
--   $14, $15 pending deliveries of a healthy, quick subscription, and of any other subscription
--   $16 maximum age of a recent response        $17 deliveries per second of a slow subscription
--   $18 largest burst, 0 for no bursts          $19 waiting time from which claims become bursts
--   $20, $21 queues with unread subscriptions, and the last read subscription of each
--   $22 maximum number of queues, including those without starts left
--   $23 period to which $17 applies             $24 minimum number of waiting deliveries for a burst
--   $25 claims of failing, quick subscriptions as bursts
--   $26 replays take at most 1/$26 of a window  $27 each kind of event has at least 1/$27 of a window
--   $28 response time in ms below which a recent response to a healthy, quick subscription allows $29 pending
--       deliveries instead of one
WITH RECURSIVE visited (queue, wrapped, n, opened, most, started, replays_started) AS (
    SELECT $3::text, false, 0, 0, NULL::bigint, NULL::bigint, NULL::bigint
    UNION ALL
    SELECT d.queue, d.wrapped, v.n + 1, v.opened + CASE WHEN p.started >= p.most THEN 0 ELSE 1 END,
        p.most, p.started, p.replays_started
    FROM visited v CROSS JOIN LATERAL (
        (SELECT queue, false AS wrapped FROM deliveries
            WHERE status = 'queued' AND NOT v.wrapped AND queue > v.queue ORDER BY queue LIMIT 1)
        UNION ALL
        (SELECT queue, true FROM deliveries
            WHERE status = 'queued' AND NOT v.wrapped AND queue <= $3 ORDER BY queue LIMIT 1)
        UNION ALL
        (SELECT queue, true FROM deliveries
            WHERE status = 'queued' AND v.wrapped AND queue > v.queue AND queue <= $3 ORDER BY queue LIMIT 1)
        LIMIT 1
    ) d CROSS JOIN LATERAL (
        SELECT plan.most, coalesce(w.started, 0) AS started, coalesce(w.replays_started, 0) AS replays_started
        FROM (SELECT ($9::bigint[])[array_position($8::text[], coalesce(
                -- The queue of a sandbox is not a website.
                (SELECT plan FROM websites WHERE id = d.queue), 'STARTER'))] AS most OFFSET 0) plan
            LEFT JOIN plan_windows w ON w.queue = d.queue AND w.starts_at = $7 AND plan.most IS NOT NULL
    ) p
    WHERE v.n < $22::int AND v.opened < least($4::int, greatest($10::int, $11::int, $12::int))
), open AS MATERIALIZED (
    SELECT queue, most, started, most - started AS free, most / $26::bigint - replays_started AS free_for_replays
    FROM visited WHERE n > 0 AND (most IS NULL OR started < most)
), served AS MATERIALIZED (
    SELECT o.*, greatest(1, $5::int / count(*) OVER ()) AS subscriptions, coalesce(c.subscription_id, '') AS after,
        CASE WHEN most IS NULL THEN false ELSE
            (SELECT count(*) FROM (SELECT FROM deliveries d WHERE d.status = 'queued' AND d.queue = o.queue
                LIMIT o.free + 1) d) > free END AS scarce
    FROM open o LEFT JOIN unnest($20::text[], $21::text[]) AS c (queue, subscription_id) USING (queue)
    WHERE CASE WHEN $6::text[] IS NULL THEN NOT EXISTS (SELECT FROM open WHERE most IS NOT NULL)
        ELSE o.most IS NULL OR o.queue = ANY ($6) END
), listed AS MATERIALIZED (
    SELECT q.queue, q.most IS NOT NULL AS limited, s.subscription_id, s.n = q.subscriptions AS cut, random() AS lot
    FROM served q CROSS JOIN LATERAL (
        WITH RECURSIVE next (subscription_id, wrapped, n) AS (
            SELECT q.after, false, 0
            UNION ALL
            SELECT d.subscription_id, d.wrapped, p.n + 1 FROM next p CROSS JOIN LATERAL (
                (SELECT subscription_id, false AS wrapped FROM deliveries WHERE status = 'queued' AND queue = q.queue
                    AND NOT p.wrapped AND subscription_id > p.subscription_id ORDER BY subscription_id LIMIT 1)
                UNION ALL
                (SELECT subscription_id, true FROM deliveries WHERE status = 'queued' AND queue = q.queue
                    AND NOT p.wrapped AND subscription_id <= q.after ORDER BY subscription_id LIMIT 1)
                UNION ALL
                (SELECT subscription_id, true FROM deliveries WHERE status = 'queued' AND queue = q.queue
                    AND p.wrapped AND subscription_id > p.subscription_id AND subscription_id <= q.after
                    ORDER BY subscription_id LIMIT 1)
                LIMIT 1
            ) d WHERE p.n < q.subscriptions
        )
        SELECT subscription_id, n FROM next WHERE n > 0
    ) s
), known AS MATERIALIZED (
    SELECT s.*, h.*, row_number() OVER (PARTITION BY s.queue, h.prompt) = 1 AS first
    FROM listed s CROSS JOIN LATERAL (
        SELECT h.store_id, h.healthy, h.quick, h.healthy AND h.quick AS prompt,
            CASE WHEN h.healthy AND h.quick THEN $14::bigint ELSE $15::bigint END AS most,
            CASE WHEN h.healthy AND h.quick THEN greatest($10::bigint, $11::bigint) ELSE $12::bigint END AS batch
        FROM subscriptions JOIN subscription_health h ON h.subscription_id = subscriptions.id
        WHERE subscriptions.id = s.subscription_id AND subscriptions.deleted_at IS NULL AND subscriptions.is_active
        OFFSET 0
    ) h
), subscription AS MATERIALIZED (
    -- wanted is twice the subscription's share of the batch, because other subscriptions may have fewer deliveries.
    -- reach is the number of deliveries of each class that are read.
    SELECT s.*, room.places, least(s.wanted, room.places) AS reach
    FROM (SELECT *, 2 + 2 * batch / (count(*) FILTER (WHERE first) OVER (PARTITION BY prompt)
            * count(*) OVER (PARTITION BY queue, prompt)) AS wanted FROM known) s CROSS JOIN LATERAL (
        -- A subscription gets few pending deliveries until it responds, then more with each response. Thus a hanging
        -- receiver never has many.
        SELECT least(least(s.most, $13::bigint + (SELECT
            coalesce(sum(CASE WHEN s.prompt AND response_time_ms < $28::bigint THEN $29::bigint ELSE 1 END), 0) FROM (
                SELECT response_time_ms FROM attempts a
                WHERE a.subscription_id = s.subscription_id AND a.attempted_at > $1::timestamptz - $16::interval
                ORDER BY a.attempted_at DESC
                LIMIT greatest(0, least(pending.n + s.wanted + 1, s.most) - $13::bigint)) lately)) - pending.n,
            -- A large batch to a slow subscription would time out and retry together. It is paced instead.
            CASE WHEN NOT s.quick THEN greatest(0, $17::bigint - pending.young + (SELECT count(*) FROM (
                SELECT FROM attempts a
                WHERE a.subscription_id = s.subscription_id AND a.attempted_at > $1::timestamptz - $16::interval
                LIMIT 2 * s.most) lately) / 2) END) AS places
        FROM (SELECT count(*) AS n, count(*) FILTER (WHERE p.lease_until > $2::timestamptz - $23::interval) AS young
            FROM deliveries p
            WHERE p.store_id = s.store_id AND p.subscription_id = s.subscription_id AND p.status = 'pending') pending
        OFFSET 0
    ) room
), candidate AS MATERIALIZED (
    -- The oldest events of each subscription and class. Events behind the last one of a cut class were not read.
    SELECT s.queue, s.subscription_id, s.healthy, s.quick, s.prompt, s.places, s.lot, d.*,
        d.rank = s.reach AS last, d.rank = s.reach AND s.reach < s.places AS cut,
        row_number() OVER (PARTITION BY s.queue, d.class = 2 ORDER BY d.event_id, s.subscription_id) AS nth
    FROM subscription s CROSS JOIN LATERAL (
        (SELECT class, event_id, scheduled_for, row_number() OVER (ORDER BY event_id) AS rank FROM deliveries
            WHERE status = 'queued' AND queue = s.queue AND subscription_id = s.subscription_id AND class = 0
            ORDER BY event_id LIMIT greatest(0, s.reach))
        UNION ALL
        (SELECT class, event_id, scheduled_for, row_number() OVER (ORDER BY event_id) FROM deliveries
            WHERE status = 'queued' AND queue = s.queue AND subscription_id = s.subscription_id AND class = 1
            ORDER BY event_id LIMIT greatest(0, s.reach))
        UNION ALL
        (SELECT class, event_id, scheduled_for, row_number() OVER (ORDER BY event_id) FROM deliveries
            WHERE status = 'queued' AND queue = s.queue AND subscription_id = s.subscription_id AND class = 2
            ORDER BY event_id LIMIT greatest(0, s.reach))
    ) d
), permitted AS (
    -- Replays take at most 1/$26 of a window. place interleaves the classes, so that no class waits for another. In a
    -- limited queue, customer.* events (class 1) are numbered separately.
    SELECT c.queue, c.subscription_id, c.healthy, c.quick, c.prompt, c.places, c.lot, c.class, c.event_id,
        c.scheduled_for, c.last, c.cut, q.most, q.started, q.free, q.scarce,
        row_number() OVER (PARTITION BY c.subscription_id, q.most IS NOT NULL AND c.class = 1
            ORDER BY CASE WHEN q.scarce THEN c.event_id END, c.rank, c.class) AS place
    FROM candidate c JOIN served q USING (queue)
    WHERE q.most IS NULL OR c.class <> 2 OR c.nth <= q.free_for_replays
), aged AS (
    -- age numbers the customer.* events of a queue, and separately its other events. The order is by age of the events
    -- if the plan allows fewer starts than there are queued deliveries; otherwise the subscriptions take turns.
    SELECT *, row_number() OVER (PARTITION BY queue, class = 1
            ORDER BY CASE WHEN scarce THEN 0 ELSE place END, CASE WHEN scarce THEN event_id END, lot) AS age,
        count(*) FILTER (WHERE class = 1) OVER whole AS customers,
        count(*) FILTER (WHERE class <> 1) OVER whole AS others,
        coalesce(bool_or(cut) FILTER (WHERE class = 1) OVER whole, false) AS customers_cut,
        coalesce(bool_or(cut) FILTER (WHERE class <> 1) OVER whole, false) AS others_cut
    FROM (SELECT *, min(event_id) FILTER (WHERE cut) OVER (PARTITION BY queue, class = 1) AS read_to
        FROM permitted WHERE place <= places) c
    WHERE NOT scarce OR read_to IS NULL OR event_id <= read_to
    WINDOW whole AS (PARTITION BY queue)
), positioned AS (
    -- The starts of a window are numbered. While both kinds are queued, one of $27 starts is for a customer.* event.
    -- before is the number of events of the other kind that start earlier.
    SELECT *, age + CASE WHEN class = 1 THEN least(others, before) ELSE least(customers, before) END AS position,
        CASE WHEN class = 1 THEN others ELSE customers END >= before AS regular
    FROM (SELECT *, CASE WHEN class = 1 THEN $27::bigint * (started / $27 + age) - started - age
            ELSE (b + (b - 1) / ($27 - 1)) / $27 - started / $27 END AS before
        FROM (SELECT *, age + started - started / $27 AS b FROM aged) a) a
), fitting AS (
    -- customer.* events alone do not use up a window: 1/$27 of the window stays reserved for other events.
    SELECT *, row_number() OVER (PARTITION BY subscription_id
            ORDER BY CASE WHEN most IS NULL THEN place ELSE position END) AS nth
    FROM positioned WHERE most IS NULL OR position <= free AND (regular
        OR CASE WHEN class = 1 THEN NOT others_cut AND started + position <= most - most / $27
            ELSE NOT customers_cut END)
), ready AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY queue, prompt
        ORDER BY CASE WHEN most IS NULL THEN place ELSE position END, lot) AS turn
    FROM fitting WHERE nth <= places
), oldest AS MATERIALIZED (
    SELECT *, $18::bigint > 1 AND waited >= $19::interval AND waiting >= $24::bigint AS bursting
    FROM (SELECT count(*) FILTER (WHERE prompt AND class <> 2) AS waiting, coalesce(max($1::timestamptz
            - CASE WHEN most IS NULL THEN scheduled_for ELSE greatest(scheduled_for, $7) END)
        FILTER (WHERE prompt AND class <> 2), '0') AS waited FROM ready) o
), batch AS (
    (SELECT ready.* FROM ready, oldest WHERE prompt AND NOT (class = 2 AND bursting) ORDER BY turn, lot
        LIMIT (SELECT CASE WHEN bursting THEN $11::bigint ELSE $10::bigint END FROM oldest))
    UNION ALL
    -- Replays do not share workflows. Beside bursts, they get the rest of the capacity of the starters.
    (SELECT ready.* FROM ready, oldest WHERE prompt AND class = 2 AND bursting
        ORDER BY turn, lot LIMIT greatest(1, $10::bigint - $11::bigint / greatest(1, $18::bigint)))
    UNION ALL
    (SELECT ready.* FROM ready, oldest WHERE NOT prompt AND quick AND class <> 2 AND bursting
        ORDER BY turn, lot LIMIT $25::bigint)
    UNION ALL
    (SELECT ready.* FROM ready, oldest WHERE NOT prompt AND NOT (quick AND class <> 2 AND bursting)
        ORDER BY turn, lot LIMIT $12::bigint)
), taken AS MATERIALIZED (
    -- Skips deliveries that another relay is claiming. That relay finds other deliveries in its next claim. Failing
    -- subscriptions have separate bursts: a burst waits for the workflows in which its deliveries continue. Deliveries
    -- of a subscription share a burst, and each subscription takes the place of a delivery: a search attribute holds
    -- 2 KiB, which is 52 ids of events, subscriptions and stores.
    SELECT d.id, b.healthy, b.quick, b.most IS NOT NULL AS limited, row_number() OVER (ORDER BY b.turn, b.lot) AS nth,
        CASE WHEN oldest.bursting AND b.quick AND b.class <> 2 THEN CASE WHEN b.prompt THEN 0 ELSE $11::bigint END
            + (row_number() OVER (alike ORDER BY b.queue, b.subscription_id, b.event_id)
                + dense_rank() OVER (alike ORDER BY b.queue, b.subscription_id) - 2) / $18::bigint END AS burst
    FROM oldest, batch b CROSS JOIN LATERAL (
        SELECT d.id FROM deliveries d
        WHERE d.status = 'queued' AND d.queue = b.queue AND d.subscription_id = b.subscription_id
            AND d.class = b.class AND d.event_id = b.event_id
        FOR UPDATE SKIP LOCKED
    ) d
    WINDOW alike AS (PARTITION BY b.prompt, b.quick AND b.class <> 2)
), burst AS MATERIALIZED (
    SELECT burst AS n, 'bst_' || uuidv7_hex($1, burst) AS id FROM taken GROUP BY burst HAVING count(*) > 1
), claimed AS (
    UPDATE deliveries d SET status = 'pending', lease_until = $2, generation = d.generation + 1, check_at = NULL,
        burst_id = burst.id, counted_in = CASE WHEN taken.limited THEN $7::timestamptz END
    FROM taken LEFT JOIN burst ON burst.n = taken.burst, set_config('synchronous_commit', 'off', true)
    WHERE d.id = taken.id
    RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts,
        d.attempts - d.schedule_base AS place, d.generation, d.queue, d.class = 2 AS replay, d.burst_id,
        taken.quick, taken.healthy, taken.nth
), unread AS (
    -- The last visited queue, if there are unvisited queues.
    SELECT queue FROM visited
    WHERE n > 0 AND (n = $22::int OR opened >= least($4::int, greatest($10::int, $11::int, $12::int))) LIMIT 1
)
SELECT (extract(epoch FROM oldest.waited) * 1000)::bigint AS waited_ms,
    (SELECT count(*) FROM ready) > (SELECT count(*) FROM taken)
        OR EXISTS (SELECT FROM fitting WHERE last OR place = places)
        OR EXISTS (SELECT FROM subscription WHERE places <= 0) OR EXISTS (SELECT FROM listed WHERE cut)
        OR EXISTS (SELECT FROM unread) AS more,
    (SELECT array_agg(queue) FROM open WHERE $6::text[] IS NULL AND most IS NOT NULL) AS limited,
    (SELECT queue FROM unread) AS last_queue,
    (SELECT array_agg(queue ORDER BY queue) FROM listed WHERE cut) AS cut_queues,
    (SELECT array_agg(subscription_id ORDER BY queue) FROM listed WHERE cut) AS cut_subscriptions,
    NULL AS id, NULL, NULL, NULL, NULL, NULL::int, NULL::int, NULL::int, NULL, NULL::boolean, NULL,
    NULL::boolean, NULL::boolean
FROM oldest
UNION ALL
(SELECT NULL, NULL, NULL, NULL, NULL, NULL, id, store_id, event_id, subscription_id, event_type,
    attempts, place, generation, queue, replay, burst_id, quick, healthy
FROM claimed ORDER BY nth)
