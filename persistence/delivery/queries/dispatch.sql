-- Turns the oldest waiting events into queued deliveries, one for each active subscription that selects the type.
-- Relays skip events that another relay is dispatching.
--   $1 largest number of events   $2 now
WITH event AS MATERIALIZED (
    SELECT id, store_id, type, occurred_at FROM outbox WHERE dispatched_at IS NULL
    ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
), store AS MATERIALIZED (
    SELECT event.store_id AS id, s.queue FROM (SELECT DISTINCT store_id FROM event) event CROSS JOIN LATERAL (
        SELECT CASE WHEN sandbox_of IS NULL THEN website_id ELSE stores.id END AS queue
        FROM stores WHERE stores.id = event.store_id OFFSET 0) s
), subscription AS MATERIALIZED (
    -- OFFSET 0 keeps the planner from reading the subscriptions of all stores.
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
), dispatched AS (
    UPDATE outbox SET dispatched_at = $2 FROM event WHERE outbox.id = event.id RETURNING 1
)
SELECT (SELECT count(*) FROM dispatched), (SELECT count(*) FROM delivery)
