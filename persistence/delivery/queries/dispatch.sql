-- Turns the oldest waiting events into queued deliveries, one for each active subscription that selects the type.
-- Relays skip events that another relay is dispatching.
--   $1 largest number of events   $2 now
WITH event AS MATERIALIZED (
    SELECT id, store_id, type, occurred_at FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
), match AS (
    SELECT event.*, s.id AS subscription_id,
        (SELECT CASE WHEN st.sandbox_of IS NULL THEN st.website_id ELSE st.id END FROM stores st WHERE st.id = event.store_id) AS queue,
        row_number() OVER (ORDER BY event.id, s.id) AS place
    FROM event JOIN subscriptions s ON s.store_id = event.store_id
        AND s.deleted_at IS NULL AND s.is_active AND event.type = ANY (s.events)
), delivery AS (
    INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at, queue, class)
    SELECT 'dlv_' || uuidv7_hex($2, place), store_id, id, subscription_id, type, 'queued', occurred_at, $2, queue,
        CASE WHEN type LIKE 'customer.%' THEN 1 ELSE 0 END
    FROM match ORDER BY place
    ON CONFLICT (event_id, subscription_id) DO NOTHING
    RETURNING 1
), dispatched AS (
    UPDATE outbox SET dispatched_at = $2 FROM event WHERE outbox.id = event.id RETURNING 1
)
SELECT (SELECT count(*) FROM dispatched), (SELECT count(*) FROM delivery)
