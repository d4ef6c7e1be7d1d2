-- The previous release records attempts. Only whitespace differs; concatenations are expanded.
	WITH r AS MATERIALIZED (
		SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
			$8::int[], $9::text[],
			$10::int[], $11::bigint[], $12::text[], $13::jsonb[], $14::bytea[], $15::timestamptz[], $16::timestamptz[],
				$19::text[], $20::jsonb[])
			AS r (place, id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
				status_code, response_time_ms, error, response_headers, response_body, next_retry_at, attempted_at,
					request_url, request_headers)
	), attempt AS (
		INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, response_headers, response_body, next_retry_at, attempted_at,
				request_url, request_headers)
		SELECT id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, response_headers, response_body, next_retry_at, attempted_at,
				request_url, request_headers
		FROM r ON CONFLICT (delivery_id, number) DO NOTHING
		RETURNING delivery_id, number
	), fresh AS MATERIALIZED (
		SELECT r.* FROM r JOIN attempt USING (delivery_id, number)
	), before AS (
		UPDATE attempts a SET status = 'failed', next_retry_at = NULL
		FROM fresh f WHERE f.number > 1 AND a.delivery_id = f.delivery_id AND a.number = f.number - 1
			AND a.status = 'retrying'
	), delivery AS (
		UPDATE deliveries d SET status = f.status, reason = CASE WHEN f.status = 'dead_letter' THEN f.error ELSE '' END,
			attempts = greatest(d.attempts, f.number), next_retry_at = f.next_retry_at,
			ended_at = CASE WHEN f.status = 'retrying' THEN NULL ELSE f.attempted_at END
		FROM fresh f WHERE d.id = f.delivery_id AND d.status <> 'cancelled'
		RETURNING d.id
	), outcome AS (
		SELECT subscription_id, bool_or(status = 'delivered') AS succeeded, max(attempted_at) AS at,
			count(*) FILTER (WHERE status <> 'delivered' AND place > last_success) AS failures,
			min(attempted_at) FILTER (WHERE status <> 'delivered' AND place > last_success) AS failing_since,
			bool_or(response_time_ms >= $17::bigint) AS slow
		FROM (SELECT f.*, coalesce(max(place) FILTER (WHERE status = 'delivered') OVER (PARTITION BY subscription_id),
			-1) AS last_success
			FROM fresh f) f
		GROUP BY subscription_id
	), changing AS MATERIALIZED (
		SELECT h.subscription_id, h.store_id, o.failures > 0
			AND (h.watch_at IS NULL OR h.watch_at < o.at - $22::interval) AS unwatched
		FROM subscription_health h JOIN outcome o USING (subscription_id)
		WHERE o.failures > 0 OR o.slow OR h.failure_count > 0 OR h.slow_seen_at < o.at - $18::interval
		ORDER BY h.subscription_id FOR UPDATE OF h
	), health AS (
		UPDATE subscription_health h SET
			failure_count = o.failures + CASE WHEN o.succeeded THEN 0 ELSE h.failure_count END,
			failing_since = CASE WHEN o.failures = 0 AND o.succeeded THEN NULL
				WHEN o.succeeded THEN o.failing_since ELSE coalesce(h.failing_since, o.failing_since) END,
			slow_seen_at = CASE WHEN o.slow THEN o.at WHEN h.slow_seen_at < o.at - $18::interval THEN NULL
				ELSE h.slow_seen_at END,
			watch_at = CASE WHEN c.unwatched THEN o.at ELSE h.watch_at END
		FROM outcome o, changing c WHERE h.subscription_id = o.subscription_id AND c.subscription_id = h.subscription_id
	), watchdog AS (
		INSERT INTO jobs (id, store_id, kind, subject, created_at, lease_until)
		SELECT 'job_' || uuidv7_hex(), c.store_id, $21, c.subscription_id, o.at, o.at
		FROM changing c JOIN outcome o USING (subscription_id) WHERE c.unwatched
	)
	SELECT f.place, d.id IS NOT NULL FROM fresh f LEFT JOIN delivery d ON d.id = f.delivery_id
