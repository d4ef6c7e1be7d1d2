-- Records a batch of attempts, the new state of their deliveries and the health of their subscriptions. It returns the
-- place of each new record, whether its delivery has the state of the record, and whether the delivery has
-- ended and may have passed on a turn.
--
-- $1 to $16, $19, $20 and $24 are the columns of the attempts, one array each:
--   $1 place in the batch, from 0
--   $2 attempt, $3 store, $4 delivery, $5 subscription, $6 event, $7 event type, $8 number
--   $9 status, $10 HTTP status or 0, $11 response time in ms, $12 error
--   $13 response headers (JSON), $14 response body
--   $15 time of the next retry or null, $16 time of the attempt
--   $19 request URL, $20 request headers (JSON)
--   $24 replays of the delivery before the attempt
-- $17 is the response time in ms from which a response is slow.
-- $18 is the time for which a subscription counts as slow after its last slow response, and $23 is the time by which a
-- quick response shortens it. A response after now, by the clock of a worker that is ahead, counts as one now.
-- $21 is the kind of the jobs that start a watchdog.
-- $22 is the delay of a watchdog's tick from which the watchdog counts as lost.
--
-- An attempt that is already recorded changes nothing, nor does its second row in the batch. A late attempt counts, but
-- does not reopen an ended delivery, and a delivered delivery stays delivered. A delivery that has ended during the
-- attempt has no retry, and keeps its reason. A delivery that a replay has queued meanwhile stays queued: the replay is
-- made, with its whole schedule. Once the replay is in progress, the attempt is not recorded: its number may be that of
-- the replay's first attempt.
-- A first attempt of a delivery that was queued again or ended meanwhile, and is therefore not counted for the plan,
-- counts again in the window of its claim.
-- It ends the retries of all earlier attempts: a restored database can lack the record of the previous one.
-- Deliveries are locked before they are read, so that the statement sees concurrent commits. Only health rows that
-- change are locked, in the order of their ids, so that two batches cannot deadlock.
WITH r AS MATERIALIZED (
	SELECT DISTINCT ON (delivery_id, number)
		place, id, store_id, delivery_id, subscription_id, event_id, event_type, number,
		coalesce(late, status) AS status, late, status_code, response_time_ms, error, response_headers, response_body,
		CASE WHEN late IS NULL THEN next_retry_at END AS next_retry_at,
		attempted_at, request_url, request_headers, r.replays, queue, class, uncounted_in
	FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[],
		$9::text[], $10::int[], $11::bigint[], $12::text[], $13::jsonb[], $14::bytea[], $15::timestamptz[],
		$16::timestamptz[], $19::text[], $20::jsonb[], $24::int[])
		AS r (place, id, store_id, delivery_id, subscription_id, event_id, event_type, number,
			status, status_code, response_time_ms, error, response_headers, response_body, next_retry_at,
			attempted_at, request_url, request_headers, replays)
		LEFT JOIN LATERAL (
			SELECT d.replays > r.replays AND d.status IN ('pending', 'retrying') AS superseded,
				CASE WHEN r.status <> 'retrying' THEN NULL
					WHEN d.status = 'delivered' THEN 'failed'
					WHEN d.status IN ('dead_letter', 'cancelled') OR d.status = 'queued' AND d.replays > r.replays
						THEN 'dead_letter' END AS late,
				d.queue, d.class, CASE WHEN d.status IN ('queued', 'dead_letter', 'cancelled') AND d.replays = r.replays
					AND d.attempts = d.schedule_base AND r.number = d.attempts + 1 THEN d.counted_in END AS uncounted_in
			FROM deliveries d WHERE d.id = r.delivery_id FOR UPDATE
		) d ON true
	WHERE superseded IS NOT TRUE
	ORDER BY delivery_id, number, place
), attempt AS (
	INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number,
		status, status_code, response_time_ms, error, response_headers, response_body, next_retry_at,
		attempted_at, request_url, request_headers)
	SELECT id, store_id, delivery_id, subscription_id, event_id, event_type, number,
		status, status_code, response_time_ms, error, response_headers, response_body, next_retry_at,
		attempted_at, request_url, request_headers
	FROM r ON CONFLICT (delivery_id, number) DO NOTHING
	RETURNING delivery_id, number
), fresh AS MATERIALIZED (
	SELECT r.* FROM r JOIN attempt USING (delivery_id, number)
), before AS (
	UPDATE attempts a SET status = 'failed', next_retry_at = NULL
	FROM fresh f
	WHERE f.number > 1 AND a.delivery_id = f.delivery_id AND a.number < f.number AND a.status = 'retrying'
), delivery AS (
	UPDATE deliveries d SET attempts = greatest(d.attempts, f.number),
		schedule_base = CASE WHEN d.status = 'queued' AND d.replays > f.replays THEN greatest(d.schedule_base, f.number)
			ELSE d.schedule_base END,
		(status, reason, next_retry_at, ended_at, check_at) = (
			SELECT v.status, v.reason, v.next_retry_at, v.ended_at, v.check_at FROM (VALUES
				(true, f.status, CASE WHEN f.status = 'dead_letter' THEN f.error ELSE '' END, f.next_retry_at,
					CASE WHEN f.status = 'retrying' THEN NULL ELSE f.attempted_at END, NULL::timestamptz),
				(false, d.status, d.reason, d.next_retry_at, d.ended_at, d.check_at)
			) v (moves, status, reason, next_retry_at, ended_at, check_at)
			WHERE v.moves = CASE d.status
				WHEN 'cancelled' THEN false
				WHEN 'delivered' THEN f.status = 'delivered'
				WHEN 'dead_letter' THEN f.late IS NULL
				ELSE d.replays <= f.replays END)
	FROM fresh f WHERE d.id = f.delivery_id
	RETURNING d.id, d.status = f.status AS moved, d.ordered AND d.ended_at IS NOT NULL AS passes
), recounted AS (
	-- The join with delivery locks deliveries before windows, as other statements do. The order prevents deadlocks.
	UPDATE plan_windows w SET started = w.started + n.started, replays_started = w.replays_started + n.replays
	FROM (
		SELECT w.queue, w.starts_at, n.started, n.replays FROM (
			SELECT f.queue, f.uncounted_in, count(*) AS started, count(*) FILTER (WHERE f.class = 2) AS replays
			FROM fresh f JOIN delivery d ON d.id = f.delivery_id WHERE f.uncounted_in IS NOT NULL
			GROUP BY f.queue, f.uncounted_in ORDER BY f.queue, f.uncounted_in
		) n CROSS JOIN LATERAL (
			SELECT queue, starts_at FROM plan_windows WHERE queue = n.queue AND starts_at = n.uncounted_in FOR UPDATE
		) w
	) n WHERE w.queue = n.queue AND w.starts_at = n.starts_at
), outcome AS (
	SELECT subscription_id, bool_or(status = 'delivered') AS succeeded, max(attempted_at) AS at,
		count(*) FILTER (WHERE status <> 'delivered' AND place > last_success) AS failures,
		min(attempted_at) FILTER (WHERE status <> 'delivered' AND place > last_success) AS failing_since,
		max(least(attempted_at + response_time_ms * interval '1 ms', now()))
			FILTER (WHERE response_time_ms >= $17::bigint) + $18::interval AS slow_until,
		count(*) FILTER (WHERE place > last_slow AND status_code > 0) * $23::interval AS relief
	FROM (SELECT f.*,
			coalesce(max(place) FILTER (WHERE status = 'delivered') OVER (PARTITION BY subscription_id), -1)
				AS last_success,
			coalesce(max(place) FILTER (WHERE response_time_ms >= $17::bigint) OVER (PARTITION BY subscription_id), -1)
				AS last_slow
		FROM fresh f) f
	GROUP BY subscription_id
), changing AS MATERIALIZED (
	SELECT h.subscription_id, h.store_id,
		o.failures > 0 AND (h.watch_at IS NULL OR h.watch_at < o.at - $22::interval) AS unwatched
	FROM subscription_health h JOIN outcome o USING (subscription_id)
	WHERE o.failures > 0 OR h.failure_count > 0 OR o.slow_until IS NOT NULL OR h.slow_until > o.at
	ORDER BY h.subscription_id FOR UPDATE OF h
), health AS (
	UPDATE subscription_health h SET
		failure_count = o.failures + CASE WHEN o.succeeded THEN 0 ELSE h.failure_count END,
		failing_since = CASE WHEN o.failures = 0 AND o.succeeded THEN NULL
			WHEN o.succeeded THEN o.failing_since ELSE coalesce(h.failing_since, o.failing_since) END,
		slow_until = greatest(h.slow_until, o.slow_until) - o.relief,
		watch_at = CASE WHEN c.unwatched THEN o.at ELSE h.watch_at END
	FROM outcome o, changing c WHERE h.subscription_id = o.subscription_id AND c.subscription_id = h.subscription_id
), watchdog AS (
	INSERT INTO jobs (id, store_id, queue, kind, subject, urgent, created_at, lease_until)
	SELECT 'job_' || uuidv7_hex(), c.store_id, store_queue(c.store_id), $21, c.subscription_id, false, o.at, o.at
	FROM changing c JOIN outcome o USING (subscription_id) WHERE c.unwatched
)
SELECT f.place, coalesce(d.moved, false), coalesce(d.passes, false)
FROM fresh f LEFT JOIN delivery d ON d.id = f.delivery_id
