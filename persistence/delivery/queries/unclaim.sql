-- Ends the leases of claims whose workflows could not be started. CASE has the same reason as in mark_started.sql.
--   $1 time from which another relay may claim the deliveries   $2 deliveries   $3 generations of their claims
WITH failed AS MATERIALIZED (
    SELECT d.id FROM unnest($2::text[], $3::int[]) AS c (id, generation) CROSS JOIN LATERAL (
        SELECT d.id FROM deliveries d
        WHERE d.id = c.id AND d.generation = c.generation AND CASE d.status WHEN 'pending' THEN d.started_at IS NULL END
        FOR UPDATE SKIP LOCKED) d
)
UPDATE deliveries d SET lease_until = $1 FROM failed WHERE d.id = failed.id
