-- Turns undispatched events into queued deliveries, one for each active subscription that selects the type, and gives
-- each event the next position of its store, in the order of their numbers. Queues take turns, and so do the stores of
-- a queue. Relays skip stores that another relay is dispatching, so that the positions of a store become visible in
-- ascending order.
--
-- The rows of an event are its deliveries and one for itself. The statement takes the next stores in turn until their
-- first events have $1 rows. Then $1 is divided equally among their queues, and within a queue among its stores. Each
-- store takes its oldest events that fit into its share, and always the first one. An event is dispatched as a whole.
--   $1 rows                                        $2 now
--   $3 last queue of the previous dispatch         $4 maximum number of queues   $5 maximum number of stores
--   $6, $7 queues with stores that were not read, and the last store of each that was read
--   $8, $9, $10, $11 decisions: event, subscription, its version, and whether its filter matches the event
--
-- A store's first event for which a filter is not decided ends its events of this dispatch. The statement returns the
-- undecided pairs of events and subscriptions.
--
-- The subscriptions are locked until the commit, so that their ordering does not change. A store with a subscription
-- that another transaction is changing dispatches nothing. Ordered deliveries are inserted as held back, and the
-- trigger of the table gives them their turns.
--
-- The table contains index entries of deleted rows until it is vacuumed. The statement passes those of a store once: it
-- remembers the first event of each queue and of each store.
WITH RECURSIVE turn (queue, store_id, number, type, wrapped, n) AS (
    SELECT $3::text, NULL::text, NULL::bigint, NULL::text, false, 0
    UNION ALL
    SELECT u.queue, u.store_id, u.number, u.type, u.wrapped, t.n + 1 FROM turn t CROSS JOIN LATERAL (
        (SELECT queue, store_id, number, type, false AS wrapped FROM undispatched
            WHERE NOT t.wrapped AND queue > t.queue ORDER BY queue, store_id, number LIMIT 1)
        UNION ALL
        (SELECT queue, store_id, number, type, true FROM undispatched
            WHERE NOT t.wrapped AND queue <= $3 ORDER BY queue, store_id, number LIMIT 1)
        UNION ALL
        (SELECT queue, store_id, number, type, true FROM undispatched
            WHERE t.wrapped AND queue > t.queue AND queue <= $3 ORDER BY queue, store_id, number LIMIT 1)
        LIMIT 1
    ) u WHERE t.n < $4::int
), queue AS MATERIALIZED (
    SELECT t.*, p.store_id AS after, greatest(1, $5::int / count(*) OVER ()) AS stores
    FROM turn t LEFT JOIN unnest($6::text[], $7::text[]) AS p (queue, store_id) USING (queue) WHERE t.n > 0
), store AS MATERIALIZED (
    SELECT q.queue, s.store_id AS id, s.number, s.type, s.n AS nth, s.n = q.stores AS cut,
        row_number() OVER (ORDER BY s.n, q.n) AS n
    FROM queue q CROSS JOIN LATERAL (
        WITH RECURSIVE next (store_id, number, type, wrapped, n) AS (
            SELECT coalesce(q.after, q.store_id), q.number, q.type, q.after IS NULL, (q.after IS NULL)::int
            UNION ALL
            SELECT u.*, p.n + 1 FROM next p CROSS JOIN LATERAL (
                (SELECT store_id, number, type, p.wrapped FROM undispatched WHERE queue = q.queue
                    AND store_id > p.store_id AND (NOT p.wrapped OR q.after IS NULL OR store_id <= q.after)
                    ORDER BY store_id, number LIMIT 1)
                UNION ALL
                (SELECT q.store_id, q.number, q.type, true WHERE NOT p.wrapped AND q.store_id <= q.after)
                LIMIT 1
            ) u WHERE p.n < q.stores
        )
        SELECT * FROM next WHERE n > 0
    ) s
), tried (n, is_free, total) AS (
    -- OFFSET 0 keeps the order: the statement locks only stores that it dispatches.
    SELECT 0::bigint, false, 0::bigint
    UNION ALL
    SELECT s.n, lock.is_free, t.total + first.size FROM tried t
        CROSS JOIN LATERAL (SELECT * FROM store WHERE store.n = t.n + 1 OFFSET 0) s
        CROSS JOIN LATERAL (
            SELECT pg_try_advisory_xact_lock(hashtextextended('dispatch/' || s.id, 0)) AS is_free OFFSET 0) lock
        CROSS JOIN LATERAL (
            SELECT CASE WHEN lock.is_free THEN 1 + count(*) ELSE 0 END AS size FROM subscriptions
            WHERE lock.is_free AND store_id = s.id AND deleted_at IS NULL AND is_active AND selects(events, s.type)
            OFFSET 0) first
    WHERE t.total < $1
), free AS MATERIALIZED (
    SELECT s.queue, s.id, s.number, greatest(1, $1 / count(*) OVER (PARTITION BY s.queue)
        / (SELECT count(DISTINCT queue) FROM store JOIN tried USING (n) WHERE is_free)) AS share
    FROM store s JOIN tried USING (n) WHERE is_free
), subscription AS MATERIALIZED (
    -- OFFSET 0 prevents the planner from reading the subscriptions of all stores.
    SELECT free.id AS store_id, s.* FROM free CROSS JOIN LATERAL (
        SELECT id, events, version, filter IS NOT NULL AS is_filtered, ordering = 'resource' AS is_ordered
        FROM subscriptions WHERE store_id = free.id AND deleted_at IS NULL AND is_active
        OFFSET 0 FOR SHARE SKIP LOCKED) s
), waiting AS MATERIALIZED (
    SELECT free.id AS store_id, free.queue, free.share, u.* FROM free CROSS JOIN LATERAL (
        SELECT ctid AS place, number, event_id, type FROM undispatched
        WHERE queue = free.queue AND store_id = free.id AND number >= free.number
        ORDER BY number LIMIT free.share + 1) u
    WHERE (SELECT count(*) FROM subscription s WHERE s.store_id = free.id)
        = (SELECT count(*) FROM subscriptions s WHERE s.store_id = free.id AND s.deleted_at IS NULL AND s.is_active)
), kind AS MATERIALIZED (
    SELECT w.store_id, w.type, count(s.id) AS deliveries FROM (SELECT DISTINCT store_id, type FROM waiting) w
        LEFT JOIN subscription s ON s.store_id = w.store_id AND selects(s.events, w.type)
    GROUP BY w.store_id, w.type
), decision AS MATERIALIZED (
    SELECT * FROM unnest($8::text[], $9::text[], $10::bigint[], $11::boolean[])
        AS d (event_id, subscription_id, version, matches)
), sized AS MATERIALIZED (
    SELECT w.*, sum(1 + k.deliveries) OVER event <= w.share OR row_number() OVER event = 1 AS fits
    FROM waiting w JOIN kind k USING (store_id, type)
    WINDOW event AS (PARTITION BY store_id ORDER BY number)
), filtered AS MATERIALIZED (
    SELECT w.queue, w.store_id, w.number, w.event_id, s.id AS subscription_id, s.version,
        d.matches -- null = undecided
    FROM sized w JOIN subscription s ON s.store_id = w.store_id AND s.is_filtered AND selects(s.events, w.type)
        LEFT JOIN decision d ON d.event_id = w.event_id AND d.subscription_id = s.id AND d.version = s.version
    WHERE w.fits
), undecided AS MATERIALIZED (
    SELECT store_id, min(number) AS first FROM filtered WHERE matches IS NULL GROUP BY store_id
), event AS MATERIALIZED (
    -- A row that another relay has deleted since this statement began is skipped.
    DELETE FROM undispatched WHERE ctid = ANY (ARRAY(SELECT place FROM sized LEFT JOIN undecided u USING (store_id)
        WHERE fits AND (u.first IS NULL OR number < u.first)))
    RETURNING queue, store_id, number, event_id AS id, type, occurred_at,
        (SELECT subject FROM outbox WHERE id = event_id) AS subject
), numbered AS MATERIALIZED (
    -- The position of an event is that of its time plus 0, or one more than the position before it. A clock that is
    -- ahead by more than a minute does not count.
    SELECT n.*, max(first - nth) OVER (PARTITION BY store_id ORDER BY nth) AS base FROM (
        SELECT *, event_position(least(occurred_at, $2::timestamptz + interval '1 min')) AS first,
            row_number() OVER (PARTITION BY store_id ORDER BY number) AS nth
        FROM event) n
), head AS (
    -- ON CONFLICT reads the newest row, also if it is newer than the statement's snapshot.
    INSERT INTO event_heads AS h (store_id, position, previous, taken)
    SELECT store_id, max(base) + count(*), 0, count(*) FROM numbered GROUP BY store_id ORDER BY store_id
    ON CONFLICT (store_id) DO UPDATE SET position = greatest(h.position + excluded.taken, excluded.position),
        previous = h.position, taken = excluded.taken
    RETURNING h.store_id, h.previous
), placed AS MATERIALIZED (
    SELECT n.*, greatest(h.previous, n.base) + n.nth AS position FROM numbered n JOIN head h USING (store_id)
), logged AS (
    INSERT INTO event_log (id, store_id, position, type) SELECT id, store_id, position, type FROM placed ORDER BY id
    ON CONFLICT (id) DO NOTHING -- an event that was dispatched before
), match AS (
    SELECT p.*, s.id AS subscription_id, s.is_ordered AND p.subject <> '' AS is_ordered,
        row_number() OVER (ORDER BY p.number, s.id) AS place
    FROM placed p JOIN subscription s ON s.store_id = p.store_id AND selects(s.events, p.type)
    WHERE NOT EXISTS (SELECT FROM filtered f
        WHERE f.event_id = p.id AND f.subscription_id = s.id AND NOT f.matches)
), delivery AS (
    INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at,
        queue, class, resource, position, ordered, held)
    SELECT 'dlv_' || uuidv7_hex($2, place), store_id, id, subscription_id, type, 'queued', occurred_at, $2,
        plan_queue(queue, store_id), CASE WHEN type LIKE 'customer.%' THEN 1 ELSE 0 END, subject, position, is_ordered,
        is_ordered
    FROM match ORDER BY place
    ON CONFLICT (event_id, subscription_id) DO NOTHING
    RETURNING 1
), evaluate AS MATERIALIZED (
    SELECT * FROM filtered WHERE matches IS NULL ORDER BY number, subscription_id
), visited AS MATERIALIZED (
    -- The next dispatch starts after the last queue, or after the queue that took the last store.
    SELECT s.queue, bool_or(s.cut OR s.n > last.n) AS unread,
        (array_agg(s.id ORDER BY s.n DESC) FILTER (WHERE s.n <= last.n))[1] AS store_id,
        max(s.n) FILTER (WHERE s.n <= last.n AND (s.nth = 1 OR NOT last.cut)) AS place
    FROM store s, (SELECT max(n) AS n, (SELECT max(n) FROM turn) = $4 AS cut FROM tried) last
    GROUP BY s.queue, last.n HAVING min(s.n) <= last.n
)
SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM delivery),
    (SELECT max(n) FROM turn) = $4 OR (SELECT max(n) FROM tried) < (SELECT count(*) FROM store)
        OR EXISTS (SELECT FROM store WHERE cut) OR EXISTS (SELECT FROM sized
            WHERE NOT fits AND store_id NOT IN (SELECT store_id FROM undecided)),
    ARRAY(SELECT store_id FROM head),
    (SELECT queue FROM visited ORDER BY place DESC LIMIT 1),
    ARRAY(SELECT queue FROM visited ORDER BY queue),
    ARRAY(SELECT CASE WHEN unread THEN store_id ELSE '' END FROM visited ORDER BY queue),
    ARRAY(SELECT queue FROM evaluate), ARRAY(SELECT event_id FROM evaluate),
    ARRAY(SELECT subscription_id FROM evaluate), ARRAY(SELECT version FROM evaluate)
