-- Records that workflows run. It skips a claim that has been followed by another claim, or whose attempt is recorded.
-- It also skips rows that are locked because their attempt is being recorded: waiting for them could deadlock.
-- CASE keeps the planner from the index of leases: it would read all leased deliveries for each claim.
--   $1 now   $2 deliveries   $3 generations of their claims
WITH running AS MATERIALIZED (
    SELECT d.id FROM unnest($2::text[], $3::int[]) AS c (id, generation) CROSS JOIN LATERAL (
        SELECT d.id FROM deliveries d
        WHERE d.id = c.id AND d.generation = c.generation AND CASE d.status WHEN 'pending' THEN d.started_at IS NULL END
        FOR UPDATE SKIP LOCKED) d
)
UPDATE deliveries d SET started_at = $1 FROM running, set_config('synchronous_commit', 'off', true)
WHERE d.id = running.id
