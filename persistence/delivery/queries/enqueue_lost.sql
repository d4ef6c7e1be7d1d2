-- Enqueues the jobs of unfinished work again, unless they are already enqueued. It returns their number.
--   $1 now   $2 age from which work counts as unfinished   $3 time since the last attempt to send an unfinished mail
--   $4, $5, $6 kinds of the jobs that tear down a webhook, replay in bulk, and send a mail
--   $7 maximum number of jobs of each kind   $8 kind of the job that ends the time of a sold-out product
--   $9 kind of the job that erases the bodies of a customer's events
--   $10 kind of the job that watches an order until it is accepted
--   $11 kind of the job that ends the queued deliveries of an inactive webhook
--   $12, $13 kinds of urgent jobs and of urgent mails
WITH unfinished AS MATERIALIZED (
    (SELECT s.store_id, $4::text AS kind, s.id AS subject FROM subscriptions s
        WHERE s.deleted_at <= $1::timestamptz - $2::interval AND EXISTS (
            SELECT FROM deliveries d
            WHERE d.subscription_id = s.id AND d.store_id = s.store_id
                AND d.status IN ('queued', 'retrying', 'dead_letter'))
        ORDER BY s.deleted_at DESC LIMIT $7)
    UNION ALL
    -- Also a delivery that was dispatched while the webhook was switched off.
    (SELECT s.store_id, $11, s.id FROM subscriptions s
        WHERE NOT s.is_active AND s.deleted_at IS NULL AND s.updated_at <= $1::timestamptz - $2::interval AND EXISTS (
            SELECT FROM deliveries d WHERE d.subscription_id = s.id AND d.store_id = s.store_id AND d.status = 'queued')
        ORDER BY s.updated_at DESC LIMIT $7)
    UNION ALL
    (SELECT store_id, $5, id FROM replays WHERE status = 'running' AND created_at <= $1::timestamptz - $2::interval
        ORDER BY created_at LIMIT $7)
    UNION ALL
    (SELECT store_id, $6, id FROM mails WHERE status = 'queued' AND lease_until <= $1::timestamptz - $3::interval
        ORDER BY lease_until LIMIT $7)
    UNION ALL
    (SELECT store_id, $8, id FROM products
        WHERE sold_out_until <= $1::timestamptz - $2::interval AND deleted_at IS NULL
        ORDER BY sold_out_until LIMIT $7)
    UNION ALL
    (SELECT DISTINCT e.store_id, $9, e.erasing FROM outbox e JOIN customers c ON c.id = e.erasing
        WHERE e.erasing IS NOT NULL AND e.body IS NOT NULL AND c.erased_at <= $1::timestamptz - $2::interval
        ORDER BY e.erasing LIMIT $7)
    UNION ALL
    (SELECT store_id, $10, order_id FROM acceptances WHERE next_at <= $1::timestamptz - $2::interval
        ORDER BY next_at LIMIT $7)
), enqueued AS (
    INSERT INTO jobs (id, store_id, queue, kind, subject, urgent, created_at, lease_until)
    SELECT 'job_' || uuidv7_hex($1, row_number() OVER ()), u.store_id, store_queue(u.store_id), u.kind, u.subject,
        u.kind = ANY ($12) OR EXISTS (SELECT FROM mails m WHERE m.id = u.subject AND m.kind = ANY ($13)), $1, $1
    FROM unfinished u WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.kind = u.kind AND j.subject = u.subject)
    RETURNING 1
)
SELECT count(*) FROM enqueued
