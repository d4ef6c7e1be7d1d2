-- Ends the leases of relays that died: of those without the session lock of their claims. Claims whose start is not
-- recorded yet are few. The lock also keeps two relays from releasing the same claims.
--   $1 now   $2 class of the locks
WITH dead AS MATERIALIZED (
    SELECT relay FROM (
        SELECT DISTINCT relay FROM deliveries
        WHERE status = 'pending' AND started_at IS NULL AND lease_until >= $1 AND relay IS NOT NULL
    ) leasing WHERE pg_try_advisory_xact_lock($2, relay)
), released AS MATERIALIZED (
    SELECT d.id FROM deliveries d JOIN dead USING (relay)
    WHERE d.status = 'pending' AND d.started_at IS NULL AND d.lease_until >= $1
    FOR UPDATE OF d SKIP LOCKED
)
UPDATE deliveries d SET lease_until = $1::timestamptz - interval '1 ms' FROM released WHERE d.id = released.id
