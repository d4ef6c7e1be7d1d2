-- Takes deliveries that should have made progress, those first that were checked longest ago.
--   $1 now   $2 how late a delivery must be   $3 time until the next check   $4 most deliveries
-- The key of the index is the time of the next check less $2, or the time when progress was due.
WITH due AS MATERIALIZED (
    SELECT id FROM deliveries
    WHERE status IN ('pending', 'retrying')
        AND coalesce(check_at, next_retry_at, started_at) <= $1::timestamptz - $2::interval
    ORDER BY coalesce(check_at, next_retry_at, started_at) LIMIT $4 FOR UPDATE SKIP LOCKED
)
UPDATE deliveries d SET check_at = $1::timestamptz + $3::interval - $2::interval FROM due WHERE d.id = due.id
RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts,
    d.attempts - d.schedule_base AS place, d.generation, coalesce(d.queue, ''), d.class = 2 AS replay,
    coalesce(d.burst_id, ''), d.status, d.next_retry_at,
    EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.quick) AS quick
