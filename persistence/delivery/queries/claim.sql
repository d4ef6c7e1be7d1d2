-- Claims queued deliveries: makes them pending under a lease. Websites take turns, then their webhooks. It never reads
-- more of a queue than its limits say, however much is queued.
--
-- A queue that a plan limits is claimed only if $6 names it: the transaction has locked it then, and counts the claims.
-- Without $6, the first row names the limited queues with starts left. Every other row is a claim.
--   $1 now                            $2 end of the lease
--   $3 queue to begin after           $4 most queues
--   $5 most subscriptions of a queue  $6 locked queues, or null
--   $7 start of the plan's window     $8, $9 names and limits of the plans; null is unlimited
--   $10 claims of healthy, quick subscriptions  $11 the same if they are bursts  $12 claims of the others
--   $13 pending deliveries of a subscription that has not responded lately
--   $14, $15 pending deliveries of a healthy, quick subscription, and of another
--   $16 how long a response counts as lately      $17 deliveries a second of a slow subscription
--   $18 largest burst, 0 for none     $19 waiting time from which claims become bursts
--   $20, $21 queues and the subscription of each to begin after
WITH RECURSIVE later (queue, n) AS (
    (SELECT queue, 1 FROM deliveries WHERE status = 'queued' AND queue > $3 ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT d.queue, later.n + 1 FROM later CROSS JOIN LATERAL (
        SELECT queue FROM deliveries WHERE status = 'queued' AND queue > later.queue ORDER BY queue LIMIT 1) d
    WHERE later.n < $4
), earlier (queue, n) AS (
    (SELECT queue, 1 FROM deliveries WHERE status = 'queued' AND queue <= $3 ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT d.queue, earlier.n + 1 FROM earlier CROSS JOIN LATERAL (
        SELECT queue FROM deliveries WHERE status = 'queued' AND queue > earlier.queue AND queue <= $3 ORDER BY queue LIMIT 1) d
    WHERE earlier.n < $4 - (SELECT count(*) FROM later)
), waiting AS (
    SELECT queue, row_number() OVER (ORDER BY half, n) AS turn FROM (
        SELECT 1 AS half, queue, n FROM later WHERE $6::text[] IS NULL
        UNION ALL SELECT 2, queue, n FROM earlier WHERE $6::text[] IS NULL
        UNION ALL SELECT 3, queue, n FROM unnest($6::text[]) WITH ORDINALITY AS locked (queue, n)
    ) q
), planned AS MATERIALIZED (
    SELECT w.queue, w.turn, p.most, coalesce(s.started, 0) AS started,
        p.most - coalesce(s.started, 0) AS free, p.most / 2 - coalesce(s.replays_started, 0) AS free_for_replays,
        coalesce((SELECT c.subscription_id FROM unnest($20::text[], $21::text[]) AS c (queue, subscription_id)
            WHERE c.queue = w.queue), '') AS after
    FROM waiting w
        LEFT JOIN websites ON websites.id = w.queue -- the queue of a sandbox is a store
        CROSS JOIN LATERAL (
            SELECT ($9::bigint[])[array_position($8::text[], coalesce(websites.plan, 'STARTER'))] AS most OFFSET 0) p
        LEFT JOIN plan_windows s ON s.queue = w.queue AND s.starts_at = $7 AND p.most IS NOT NULL
), served AS MATERIALIZED (
    SELECT *, CASE WHEN most IS NOT NULL THEN
            (SELECT count(*) FROM (SELECT FROM deliveries d WHERE d.status = 'queued' AND d.queue = planned.queue
                LIMIT greatest(0, planned.free) + 1) d) > free
        ELSE false END AS scarce
    FROM planned WHERE CASE WHEN $6::text[] IS NULL THEN most IS NULL ELSE most IS NULL OR free > 0 END
), known AS MATERIALIZED (
    SELECT q.queue, q.most IS NOT NULL AS limited, s.subscription_id, s.n, h.*
    FROM served q CROSS JOIN LATERAL (
        WITH RECURSIVE later (subscription_id, n) AS (
            (SELECT subscription_id, 1::bigint FROM deliveries
                WHERE status = 'queued' AND queue = q.queue AND subscription_id > q.after ORDER BY subscription_id LIMIT 1)
            UNION ALL
            SELECT d.subscription_id, later.n + 1 FROM later CROSS JOIN LATERAL (
                SELECT subscription_id FROM deliveries
                WHERE status = 'queued' AND queue = q.queue AND subscription_id > later.subscription_id
                ORDER BY subscription_id LIMIT 1) d
            WHERE later.n < $5
        ), earlier (subscription_id, n) AS (
            (SELECT subscription_id, 1 + (SELECT count(*) FROM later) FROM deliveries
                WHERE status = 'queued' AND queue = q.queue AND subscription_id <= q.after AND (SELECT count(*) FROM later) < $5
                ORDER BY subscription_id LIMIT 1)
            UNION ALL
            SELECT d.subscription_id, earlier.n + 1 FROM earlier CROSS JOIN LATERAL (
                SELECT subscription_id FROM deliveries
                WHERE status = 'queued' AND queue = q.queue AND subscription_id > earlier.subscription_id
                    AND subscription_id <= q.after
                ORDER BY subscription_id LIMIT 1) d
            WHERE earlier.n < $5
        )
        SELECT * FROM later UNION ALL SELECT * FROM earlier
    ) s CROSS JOIN LATERAL (
        SELECT h.store_id, h.healthy, h.quick, h.healthy AND h.quick AS prompt,
            CASE WHEN h.healthy AND h.quick THEN $14::bigint ELSE $15::bigint END AS most,
            CASE WHEN h.healthy AND h.quick THEN greatest($10::bigint, $11::bigint) ELSE $12::bigint END AS batch
        FROM subscriptions JOIN subscription_health h ON h.subscription_id = subscriptions.id
        WHERE subscriptions.id = s.subscription_id AND subscriptions.deleted_at IS NULL OFFSET 0
    ) h
), subscription AS MATERIALIZED (
    SELECT s.queue, s.subscription_id, s.healthy, s.quick, s.prompt, room.places
    FROM (SELECT *, CASE WHEN limited THEN batch
            -- Twice the even share of the subscription in that of its queue, and two: others may have less.
            ELSE 2 + 2 * batch / (count(*) OVER (PARTITION BY prompt, queue) * (SELECT count(*) FROM served)) END AS wanted
        FROM known) s CROSS JOIN LATERAL (
        -- A subscription that hangs has few pending deliveries before that is known; one that responds has many.
        SELECT least(s.wanted, least(s.most, $13 + (SELECT count(*) FROM (
                SELECT FROM attempts a
                WHERE a.subscription_id = s.subscription_id AND a.attempted_at > $1::timestamptz - $16::interval
                ORDER BY a.attempted_at DESC LIMIT greatest(0, pending.n + s.wanted - $13)) lately)) - pending.n,
            -- A large batch to a slow subscription times out and retries together: pace it.
            CASE WHEN NOT s.quick THEN greatest(0, $17 - pending.young + (SELECT count(*) FROM (
                SELECT FROM attempts a
                WHERE a.subscription_id = s.subscription_id AND a.attempted_at > $1::timestamptz - $16::interval
                LIMIT 2 * s.most) lately) / 2) END) AS places
        FROM (SELECT count(*) AS n, count(*) FILTER (WHERE p.lease_until > $2::timestamptz - interval '1 s') AS young
            FROM deliveries p
            WHERE p.store_id = s.store_id AND p.subscription_id = s.subscription_id AND p.status = 'pending') pending
        OFFSET 0
    ) room
), candidate AS MATERIALIZED (
    -- Of each subscription and class the oldest events. place interleaves the classes, so that none waits for another.
    SELECT s.queue, s.subscription_id, s.healthy, s.quick, s.prompt, s.places, d.class, d.event_id, d.scheduled_for, d.rank,
        row_number() OVER (PARTITION BY s.subscription_id ORDER BY d.rank, d.class) AS place
    FROM subscription s CROSS JOIN LATERAL (
        (SELECT class, event_id, scheduled_for, row_number() OVER (ORDER BY event_id) AS rank FROM deliveries
            WHERE status = 'queued' AND queue = s.queue AND subscription_id = s.subscription_id AND class = 0
            ORDER BY event_id LIMIT greatest(0, s.places))
        UNION ALL
        (SELECT class, event_id, scheduled_for, row_number() OVER (ORDER BY event_id) FROM deliveries
            WHERE status = 'queued' AND queue = s.queue AND subscription_id = s.subscription_id AND class = 1
            ORDER BY event_id LIMIT greatest(0, s.places))
        UNION ALL
        (SELECT class, event_id, scheduled_for, row_number() OVER (ORDER BY event_id) FROM deliveries
            WHERE status = 'queued' AND queue = s.queue AND subscription_id = s.subscription_id AND class = 2
            ORDER BY event_id LIMIT greatest(0, s.places))
    ) d
), aged AS (
    -- Replays take at most half of a window. age is the place among the customer.* events of a queue, or among the others.
    SELECT c.*, q.most, q.free, q.started, q.scarce,
        row_number() OVER (PARTITION BY c.queue, c.class = 1 ORDER BY c.event_id, c.subscription_id) AS age,
        count(*) FILTER (WHERE c.class = 1) OVER (PARTITION BY c.queue) AS customers,
        count(*) FILTER (WHERE c.class <> 1) OVER (PARTITION BY c.queue) AS others
    FROM (SELECT *, row_number() OVER (PARTITION BY queue, class = 2 ORDER BY event_id, subscription_id) AS age_of_kind
        FROM candidate) c JOIN served q USING (queue)
    WHERE q.most IS NULL OR c.class <> 2 OR c.age_of_kind <= q.free_for_replays
), positioned AS (
    -- The starts of a window are numbered. Each fifth is for a customer.* event, the others are not, as long as both wait.
    -- before is how many of the other kind start earlier then.
    SELECT *, age + CASE WHEN class = 1 THEN least(others, before) ELSE least(customers, before) END AS position,
        class <> 1 OR others >= before AS regular
    FROM (SELECT *, CASE WHEN class = 1 THEN 5 * (started / 5 + age) - started - age
            ELSE (b + (b - 1) / 4) / 5 - started / 5 END AS before
        FROM (SELECT *, age + started - started / 5 AS b FROM aged) a) a
), fitting AS (
    -- customer.* events alone do not use up a window: a fifth of it is left to the others.
    SELECT *, row_number() OVER (PARTITION BY subscription_id ORDER BY CASE WHEN scarce THEN position ELSE place END) AS nth
    FROM positioned WHERE most IS NULL OR position <= free AND (regular OR started + position <= most - most / 5)
), ready AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY queue, prompt
        ORDER BY CASE WHEN scarce THEN position ELSE place END, event_id) AS turn
    FROM fitting WHERE nth <= places
), oldest AS MATERIALIZED (
    SELECT coalesce(max($1::timestamptz - CASE WHEN most IS NULL THEN scheduled_for ELSE greatest(scheduled_for, $7) END)
        FILTER (WHERE prompt AND class <> 2), '0') AS waited FROM ready
), batch AS (
    (SELECT * FROM ready WHERE prompt ORDER BY turn, event_id
        LIMIT (SELECT CASE WHEN $18 > 1 AND waited >= $19::interval THEN $11::bigint ELSE $10::bigint END FROM oldest))
    UNION ALL
    (SELECT * FROM ready WHERE NOT prompt ORDER BY turn, event_id LIMIT $12)
), taken AS MATERIALIZED (
    -- Another relay may want the same: it finds others when it looks again.
    SELECT d.id, b.healthy, b.quick, b.prompt AND b.class <> 2 AS may_burst,
        row_number() OVER (PARTITION BY b.prompt AND b.class <> 2 ORDER BY b.turn, b.event_id) - 1 AS nth
    FROM batch b CROSS JOIN LATERAL (
        SELECT d.id FROM deliveries d
        WHERE d.status = 'queued' AND d.queue = b.queue AND d.subscription_id = b.subscription_id
            AND d.class = b.class AND d.event_id = b.event_id
        FOR UPDATE SKIP LOCKED
    ) d
), burst AS MATERIALIZED (
    SELECT n, 'bst_' || uuidv7_hex($1, n) AS id
    FROM oldest, generate_series(0, (SELECT count(*) FROM taken WHERE may_burst) / greatest($18, 1)) n
    WHERE $18 > 1 AND waited >= $19::interval AND (SELECT count(*) FROM taken WHERE may_burst) > 1
), claimed AS (
    UPDATE deliveries d SET status = 'pending', lease_until = $2, generation = d.generation + 1, check_at = NULL,
        burst_id = burst.id
    FROM taken LEFT JOIN burst ON taken.may_burst AND burst.n = taken.nth / greatest($18, 1),
        set_config('synchronous_commit', 'off', true)
    WHERE d.id = taken.id
    RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.attempts - d.schedule_base AS place,
        d.generation, d.queue, d.class = 2 AS replay, d.burst_id, taken.quick, taken.healthy
)
SELECT (extract(epoch FROM oldest.waited) * 1000)::bigint AS waited_ms,
    (SELECT count(*) FROM ready) > (SELECT count(*) FROM taken) OR EXISTS (
        SELECT FROM subscription s LEFT JOIN (SELECT subscription_id, max(rank) AS read FROM candidate GROUP BY 1) c
            USING (subscription_id)
        WHERE s.places <= coalesce(c.read, 0)) AS more,
    (SELECT array_agg(queue) FROM planned WHERE $6::text[] IS NULL AND free > 0) AS limited,
    (SELECT queue FROM planned WHERE turn = $4) AS last_queue,
    (SELECT array_agg(queue ORDER BY queue) FROM known WHERE n = $5) AS cut_queues,
    (SELECT array_agg(subscription_id ORDER BY queue) FROM known WHERE n = $5) AS cut_subscriptions,
    NULL AS id, NULL, NULL, NULL, NULL, NULL::int, NULL::int, NULL::int, NULL, NULL::boolean, NULL, NULL::boolean, NULL::boolean
FROM oldest
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, id, store_id, event_id, subscription_id, event_type,
    attempts, place, generation, queue, replay, burst_id, quick, healthy
FROM claimed
