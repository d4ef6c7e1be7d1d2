-- Turns the oldest undispatched events into queued deliveries, one for each active subscription that selects the type,
-- and gives each event the next position of its store. Relays skip stores that another relay is dispatching, so that
-- the positions of a store become visible in ascending order.
--   $1 maximum number of events   $2 now
WITH waiting AS MATERIALIZED (
    SELECT id, store_id FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1
), active AS MATERIALIZED (
    SELECT DISTINCT store_id FROM waiting
), free AS MATERIALIZED (
    SELECT store_id FROM active WHERE pg_try_advisory_xact_lock(hashtextextended('dispatch/' || store_id, 0))
), event AS MATERIALIZED (
    -- FOR UPDATE reads the newest rows: another relay may have dispatched events after this statement began.
    SELECT e.id, e.store_id, e.type, e.occurred_at FROM outbox e
    WHERE e.dispatched_at IS NULL AND e.id = ANY (ARRAY(SELECT w.id FROM waiting w JOIN free USING (store_id)))
    ORDER BY e.id FOR UPDATE SKIP LOCKED
), store AS MATERIALIZED (
    SELECT event.store_id AS id, s.queue FROM (SELECT DISTINCT store_id FROM event) event CROSS JOIN LATERAL (
        SELECT CASE WHEN sandbox_of IS NULL THEN website_id ELSE stores.id END AS queue
        FROM stores WHERE stores.id = event.store_id OFFSET 0) s
), subscription AS MATERIALIZED (
    -- OFFSET 0 prevents the planner from reading the subscriptions of all stores.
    SELECT store.id AS store_id, store.queue, s.id, s.events FROM store CROSS JOIN LATERAL (
        SELECT id, events FROM subscriptions
        WHERE store_id = store.id AND deleted_at IS NULL AND is_active OFFSET 0) s
), match AS (
    SELECT event.*, s.id AS subscription_id, s.queue, row_number() OVER (ORDER BY event.id, s.id) AS place
    FROM event JOIN subscription s ON s.store_id = event.store_id AND event.type = ANY (s.events)
), delivery AS (
    INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at,
        queue, class)
    SELECT 'dlv_' || uuidv7_hex($2, place), store_id, id, subscription_id, type, 'queued', occurred_at, $2, queue,
        CASE WHEN type LIKE 'customer.%' THEN 1 ELSE 0 END
    FROM match ORDER BY place
    ON CONFLICT (event_id, subscription_id) DO NOTHING
    RETURNING 1
), numbered AS MATERIALIZED (
    -- The position of an event is that of its time plus 0, or one more than the position before it. A clock that is
    -- ahead by more than a minute does not count.
    SELECT n.*, max(first - nth) OVER (PARTITION BY store_id ORDER BY nth) AS base FROM (
        SELECT id, store_id, type, event_position(least(occurred_at, $2::timestamptz + interval '1 min')) AS first,
            row_number() OVER (PARTITION BY store_id ORDER BY id) AS nth
        FROM event) n
), head AS (
    -- ON CONFLICT reads the newest row, also if it is newer than the statement's snapshot.
    INSERT INTO event_heads AS h (store_id, position, previous, taken)
    SELECT store_id, max(base) + count(*), 0, count(*) FROM numbered GROUP BY store_id ORDER BY store_id
    ON CONFLICT (store_id) DO UPDATE SET position = greatest(h.position + excluded.taken, excluded.position),
        previous = h.position, taken = excluded.taken
    RETURNING h.store_id, h.previous
), placed AS (
    INSERT INTO event_log (id, store_id, position, type)
    SELECT n.id, n.store_id, greatest(h.previous, n.base) + n.nth, n.type FROM numbered n JOIN head h USING (store_id)
    ORDER BY n.id
    ON CONFLICT (id) DO NOTHING -- an event that was dispatched before
), dispatched AS (
    UPDATE outbox SET dispatched_at = $2 FROM event WHERE outbox.id = event.id RETURNING 1
)
SELECT (SELECT count(*) FROM dispatched), (SELECT count(*) FROM delivery), (SELECT count(*) = $1 FROM waiting),
    ARRAY(SELECT store_id FROM head)
