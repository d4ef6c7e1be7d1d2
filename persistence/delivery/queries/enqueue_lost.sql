-- Enqueues the jobs of unfinished work again, unless they wait already. It returns their number.
--   $1 now   $2 age from which work counts as unfinished   $3 the same of a mail, since it was last tried
--   $4, $5, $6 kinds of the jobs that tear down a webhook, replay in bulk, and send a mail
--   $7 most jobs of each kind
WITH unfinished AS MATERIALIZED (
    (SELECT s.store_id, $4::text AS kind, s.id AS subject FROM subscriptions s
        WHERE s.deleted_at <= $1::timestamptz - $2::interval AND EXISTS (
            SELECT FROM deliveries d
            WHERE d.subscription_id = s.id AND d.store_id = s.store_id
                AND d.status IN ('queued', 'retrying', 'dead_letter'))
        ORDER BY s.deleted_at DESC LIMIT $7)
    UNION ALL
    (SELECT store_id, $5, id FROM replays WHERE status = 'running' AND created_at <= $1::timestamptz - $2::interval
        ORDER BY created_at LIMIT $7)
    UNION ALL
    (SELECT store_id, $6, id FROM mails WHERE status = 'queued' AND lease_until <= $1::timestamptz - $3::interval
        ORDER BY lease_until LIMIT $7)
), enqueued AS (
    INSERT INTO jobs (id, store_id, kind, subject, created_at, lease_until)
    SELECT 'job_' || uuidv7_hex($1, row_number() OVER ()), u.store_id, u.kind, u.subject, $1, $1
    FROM unfinished u WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.kind = u.kind AND j.subject = u.subject)
    RETURNING 1
)
SELECT count(*) FROM enqueued
