-- The previous release turns events without a limited plan into deliveries, and claims some of them.
-- Only whitespace differs; concatenations are expanded.
	WITH head AS MATERIALIZED (
		SELECT id, store_id, type, (SELECT q.limited FROM plan_queues q WHERE q.store_id = outbox.store_id) AS limited
		FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
	), event AS MATERIALIZED (
		SELECT id, store_id, type, NULL::text AS queue, NULL::text AS plan FROM head WHERE limited IS NOT TRUE
	), remaining AS (
		SELECT coalesce(bool_or(limited), false) AS limited FROM head
	), match AS MATERIALIZED (
		SELECT event.id AS event_id, event.store_id, event.type, event.queue, event.plan, s.id AS subscription_id,
			row_number() OVER (PARTITION BY s.id ORDER BY event.id) AS place,
				row_number() OVER (ORDER BY event.id, s.id) AS overall
		FROM event JOIN subscriptions s ON s.store_id = event.store_id
			AND s.deleted_at IS NULL AND s.is_active AND event.type = ANY (s.events)
	), scheduled AS (
		SELECT *, $2::timestamptz AS scheduled_for FROM match
	), room AS MATERIALIZED (
		SELECT h.subscription_id, h.quick, CASE WHEN NOT h.quick
				OR EXISTS (SELECT FROM deliveries q WHERE q.subscription_id = h.subscription_id AND q.status = 'queued'
					AND q.scheduled_for <= $2) THEN 0
			ELSE (SELECT least(h.wanted, least(h.most, $7::bigint + (SELECT count(*) FROM (SELECT FROM attempts a
			WHERE a.subscription_id = h.subscription_id AND a.attempted_at > $2::timestamptz - interval '5 s'
			ORDER BY a.attempted_at DESC LIMIT greatest(0, pending + h.wanted - $7::bigint)) recent)) - pending)
		FROM (SELECT count(*) AS pending FROM deliveries p WHERE p.store_id = h.store_id
			AND p.subscription_id = h.subscription_id AND p.status = 'pending') p) END AS free
		FROM (SELECT subscription_id, store_id, failure_count = 0 AND slow_seen_at IS NULL AS quick, $4::bigint AS most,
			$5::bigint AS wanted FROM subscription_health) h
		WHERE h.subscription_id IN (SELECT subscription_id FROM match)
	), delivery AS (
		INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, scheduled_for, created_at, status,
			lease_until)
		SELECT 'dlv_' || uuidv7_hex($2, m.overall), m.store_id, m.event_id, m.subscription_id, m.type, m.scheduled_for,
			$2,
			CASE WHEN claimed THEN 'pending' ELSE 'queued' END, CASE WHEN claimed THEN $3::timestamptz END
		FROM scheduled m JOIN room USING (subscription_id),
			LATERAL (SELECT m.scheduled_for <= $2 AND m.place <= room.free AND m.overall <= $6 AS claimed) claim
		ORDER BY m.overall
		ON CONFLICT (event_id, subscription_id) DO NOTHING
		RETURNING id, store_id, event_id, subscription_id, event_type, status, scheduled_for
	), dispatched AS (
		UPDATE outbox SET dispatched_at = $2 FROM event WHERE outbox.id = event.id RETURNING 1
	), count AS (
		SELECT (SELECT count(*) FROM dispatched) AS events,
			(SELECT count(*) FROM delivery WHERE status = 'queued' AND scheduled_for <= $2) AS queued
	)
	SELECT remaining.limited, count.events, count.queued, d.id, d.store_id, d.event_id, d.subscription_id, d.event_type,
		room.quick
	FROM count CROSS JOIN remaining LEFT JOIN (delivery d JOIN room USING (subscription_id)) ON d.status = 'pending'
