-- The previous release gives the deliveries of events slots of their limited plans, and claims some of them.
-- Only whitespace differs; concatenations are expanded.
	WITH event AS MATERIALIZED (
		SELECT e.id, e.store_id, e.type, q.queue, q.plan FROM outbox e JOIN plan_queues q ON q.store_id = e.store_id
		WHERE e.id IN (SELECT id FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1)
			AND e.dispatched_at IS NULL AND q.queue = ANY ($8::text[])
		ORDER BY e.id FOR UPDATE OF e
	), remaining AS (
		SELECT false AS limited
	), match AS MATERIALIZED (
		SELECT event.id AS event_id, event.store_id, event.type, event.queue, event.plan, s.id AS subscription_id,
			row_number() OVER (PARTITION BY s.id ORDER BY event.id) AS place,
				row_number() OVER (ORDER BY event.id, s.id) AS overall
		FROM event JOIN subscriptions s ON s.store_id = event.store_id
			AND s.deleted_at IS NULL AND s.is_active AND event.type = ANY (s.events)
	), turn AS MATERIALIZED (
		SELECT *, row_number() OVER (PARTITION BY queue ORDER BY overall) AS turn FROM match
	), slot AS MATERIALIZED (
		SELECT wanted.queue, s.place AS turn, s.scheduled_for
		FROM (SELECT queue, plan, count(*) AS deliveries FROM turn GROUP BY queue, plan ORDER BY queue) wanted,
			take_plan_slots(wanted.queue, wanted.deliveries, ($12::bigint[])[array_position($11::text[], wanted.plan)],
				false, $2, $9, $10, NULL) s
	), scheduled AS (
		SELECT turn.*, slot.scheduled_for FROM turn JOIN slot USING (queue, turn)
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
