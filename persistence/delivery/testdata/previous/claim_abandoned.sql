-- The previous release takes over claims whose lease has ended. Only whitespace differs; concatenations are expanded.
	WITH abandoned AS MATERIALIZED (
		SELECT id, scheduled_for < $4 AND (SELECT q.limited FROM plan_queues q
			WHERE q.store_id = deliveries.store_id) IS TRUE AS passed
		FROM deliveries WHERE status = 'pending' AND started_at IS NULL AND lease_until < $1
		ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
	), queued AS (
		UPDATE deliveries d SET status = 'queued', lease_until = NULL FROM abandoned a WHERE d.id = a.id AND a.passed
	), claimed AS (
		UPDATE deliveries d SET lease_until = $2 FROM abandoned a WHERE d.id = a.id AND NOT a.passed
		RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.replays > 0 AS again,
	EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id
		AND h.slow_seen_at IS NULL) AS quick,
	EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.slow_seen_at IS NULL
		AND h.failure_count = 0) AS healthy
	)
	SELECT false, coalesce(c.id, ''), coalesce(c.store_id, ''), coalesce(c.event_id, ''),
		coalesce(c.subscription_id, ''),
	coalesce(c.event_type, ''), coalesce(c.attempts, 0), coalesce(c.again, false), coalesce(c.quick, false),
		coalesce(c.healthy, false) FROM claimed c
