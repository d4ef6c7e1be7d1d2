-- The previous release claims deliveries without a limited plan. Only whitespace differs; concatenations are expanded.
	WITH RECURSIVE waiting (subscription_id, scheduled_for) AS (
		(SELECT subscription_id, scheduled_for FROM deliveries WHERE status = 'queued'
			ORDER BY subscription_id, scheduled_for LIMIT 1)
		UNION ALL
		SELECT next.* FROM waiting w CROSS JOIN LATERAL (
			SELECT q.subscription_id, q.scheduled_for FROM deliveries q
			WHERE q.status = 'queued' AND q.subscription_id > w.subscription_id
			ORDER BY q.subscription_id, q.scheduled_for LIMIT 1
		) next
	), due AS MATERIALIZED (
		SELECT w.subscription_id, s.*, CASE WHEN s.quick THEN $4::bigint ELSE $3::bigint END AS most,
			CASE WHEN s.quick THEN $5::bigint ELSE $6::bigint END AS batch
		FROM waiting w CROSS JOIN LATERAL (
			SELECT s.store_id, h.failure_count = 0 AND h.slow_seen_at IS NULL AS quick,
				h.slow_seen_at IS NOT NULL AS slow, q.queue, q.plan, q.limited
			FROM subscriptions s JOIN subscription_health h ON h.subscription_id = s.id
				JOIN plan_queues q ON q.store_id = s.store_id
			WHERE s.id = w.subscription_id AND s.deleted_at IS NULL OFFSET 0
		) s
		WHERE w.scheduled_for <= $2
	), space AS MATERIALIZED (
		SELECT h.subscription_id, h.quick,
			least((SELECT least(h.wanted, least(h.most, $7::bigint + (SELECT count(*) FROM (SELECT FROM attempts a
			WHERE a.subscription_id = h.subscription_id AND a.attempted_at > $2::timestamptz - interval '5 s'
			ORDER BY a.attempted_at DESC LIMIT greatest(0, pending + h.wanted - $7::bigint)) recent)) - pending)
		FROM (SELECT count(*) AS pending FROM deliveries p WHERE p.store_id = h.store_id
			AND p.subscription_id = h.subscription_id AND p.status = 'pending') p),
			CASE WHEN h.slow THEN greatest(0, 2 + (SELECT count(*) FROM (SELECT FROM attempts a
			WHERE a.subscription_id = h.subscription_id AND a.attempted_at > $2::timestamptz - interval '5 s'
				LIMIT 2 * h.most) recent) / 2
		- (SELECT count(*) FROM deliveries p
			WHERE p.store_id = h.store_id AND p.subscription_id = h.subscription_id AND p.status = 'pending'
				AND p.lease_until > $1::timestamptz - interval '1 s')) END) AS places
		FROM (SELECT *, 8 + 2 * batch / count(*) OVER (PARTITION BY quick) AS wanted FROM due WHERE NOT limited) h
	), turn AS (
		SELECT d.id, d.scheduled_for, h.subscription_id, h.quick,
			row_number() OVER (PARTITION BY h.subscription_id ORDER BY d.scheduled_for, d.id) AS place
		FROM space h CROSS JOIN LATERAL (
			SELECT q.id, q.scheduled_for, q.replays FROM deliveries q
			WHERE q.subscription_id = h.subscription_id AND q.status = 'queued' AND q.scheduled_for <= $2
			ORDER BY q.scheduled_for, q.id LIMIT greatest(0, h.places)) d
	), remaining AS MATERIALIZED (
		SELECT coalesce(bool_or(limited), false) AS limited, 1 + coalesce(max(limited::int), 0) AS parts FROM due
	), batch AS (
		(SELECT * FROM turn WHERE quick ORDER BY place, id LIMIT (SELECT $5::bigint / parts FROM remaining))
		UNION ALL
		(SELECT * FROM turn WHERE NOT quick ORDER BY place, id LIMIT (SELECT $6::bigint / parts FROM remaining))
	), taken AS MATERIALIZED (
		SELECT d.id FROM batch CROSS JOIN LATERAL (
			SELECT q.id FROM deliveries q
			WHERE q.subscription_id = batch.subscription_id AND q.status = 'queued'
				AND q.scheduled_for = batch.scheduled_for AND q.id = batch.id
			FOR UPDATE SKIP LOCKED
		) d
	), claimed AS (
		UPDATE deliveries d SET status = 'pending', lease_until = $1
		FROM taken, set_config('synchronous_commit', 'off', true) WHERE d.id = taken.id
		RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.replays > 0 AS again,
	EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id
		AND h.slow_seen_at IS NULL) AS quick,
	EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.slow_seen_at IS NULL
		AND h.failure_count = 0) AS healthy
	)
	SELECT remaining.limited, coalesce(c.id, ''), coalesce(c.store_id, ''), coalesce(c.event_id, ''),
		coalesce(c.subscription_id, ''),
	coalesce(c.event_type, ''), coalesce(c.attempts, 0), coalesce(c.again, false), coalesce(c.quick, false),
		coalesce(c.healthy, false) FROM remaining LEFT JOIN claimed c ON true
