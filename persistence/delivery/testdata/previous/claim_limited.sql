-- The previous release claims deliveries of limited queues that the transaction has locked.
-- Only whitespace differs; concatenations are expanded.
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
		WHERE w.scheduled_for <= $2 AND s.queue = ANY ($8::text[])
	), space AS MATERIALIZED (
		SELECT h.subscription_id, h.quick, h.queue,
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
				FROM (SELECT *, batch AS wanted FROM due) h
	), room AS MATERIALIZED (
		SELECT q.queue, greatest(q.most, coalesce(w.taken, 0)) - coalesce(w.started, 0) AS free,
			greatest(q.most / 2, coalesce(w.replays, 0)) - coalesce(w.replays_started, 0) AS free_for_replays
		FROM (SELECT DISTINCT queue, ($11::bigint[])[array_position($10::text[], plan)] AS most FROM due) q
			LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $9
	), candidate AS MATERIALIZED (
		SELECT d.*, h.subscription_id, h.quick, room.* FROM space h JOIN room ON room.queue = h.queue AND room.free > 0
			CROSS JOIN LATERAL (
			SELECT q.id, q.scheduled_for, q.replays FROM deliveries q
			WHERE q.subscription_id = h.subscription_id AND q.status = 'queued' AND q.scheduled_for <= $2
				AND (q.replays = 0 OR room.free_for_replays > 0)
			ORDER BY q.scheduled_for, q.id LIMIT greatest(0, h.places)) d
	), fitting AS (
		SELECT *, row_number() OVER (PARTITION BY queue ORDER BY scheduled_for, id) AS arrival
		FROM (SELECT *, row_number() OVER (
			PARTITION BY queue, replays > 0 ORDER BY scheduled_for, id) AS arrival_of_kind FROM candidate) c
		WHERE replays = 0 OR arrival_of_kind <= free_for_replays
	), turn AS (
		SELECT id, scheduled_for, subscription_id, quick,
			row_number() OVER (PARTITION BY subscription_id ORDER BY scheduled_for, id) AS place
		FROM fitting WHERE arrival <= free
	), batch AS (
		(SELECT * FROM turn WHERE quick ORDER BY place, id LIMIT $5::bigint)
		UNION ALL
		(SELECT * FROM turn WHERE NOT quick ORDER BY place, id LIMIT $6::bigint)
	), taken AS MATERIALIZED (
		SELECT d.id FROM batch CROSS JOIN LATERAL (
			SELECT q.id FROM deliveries q
			WHERE q.subscription_id = batch.subscription_id AND q.status = 'queued'
				AND q.scheduled_for = batch.scheduled_for AND q.id = batch.id
			FOR UPDATE SKIP LOCKED
		) d
	), claimed AS (
		UPDATE deliveries d SET status = 'pending', lease_until = $1,
			scheduled_for = CASE WHEN d.scheduled_for < $9 THEN $2 ELSE d.scheduled_for END
		FROM taken, set_config('synchronous_commit', 'off', true) WHERE d.id = taken.id
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
