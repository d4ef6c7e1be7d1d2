-- Returns the age and the size of the unfinished work of all stores: the time of the oldest event that is not
-- dispatched, the time since which the oldest queued delivery may start, and the numbers of queued, pending and
-- retrying deliveries, dead letters and jobs.
--
-- $1 is the current time.
-- $2 limits each count.
-- $3 limits the subscriptions with queued deliveries, and the stores with undispatched events, that are read.
-- $4 is the start of the plan's window.
-- $5 and $6 are the names and limits of the plans; null is unlimited.
-- $7 and $8 are the shares of replays and of each kind of event, see $26 and $27 of claim.sql.
--
-- The recursive queries skip in an index from one subscription or store to the next. All rows come from partial
-- indexes, or from the small table of undispatched events, and the limits bound their number.
WITH RECURSIVE queueing (queue, subscription_id) AS (
	(SELECT queue, subscription_id FROM deliveries WHERE status = 'queued' AND queue IS NOT NULL
		ORDER BY queue, subscription_id LIMIT 1)
	UNION ALL
	SELECT d.* FROM queueing q CROSS JOIN LATERAL (
		SELECT d.queue, d.subscription_id FROM deliveries d
		WHERE d.status = 'queued' AND (d.queue, d.subscription_id) > (q.queue, q.subscription_id)
		ORDER BY d.queue, d.subscription_id LIMIT 1) d
), due AS (
	-- A delivery that its plan delays until the next window is not due. See claim.sql.
	SELECT CASE WHEN p.most IS NULL THEN d.scheduled_for ELSE greatest(d.scheduled_for, $4) END AS since
	FROM (SELECT * FROM queueing LIMIT $3) q CROSS JOIN LATERAL (
		SELECT plan.most, coalesce(w.started, 0) AS started, coalesce(w.replays_started, 0) AS replays_started
		FROM (SELECT ($6::bigint[])[array_position($5::text[], coalesce(
				(SELECT plan FROM websites WHERE id = q.queue), 'STARTER'))] AS most OFFSET 0) plan
			LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $4 AND plan.most IS NOT NULL
	) p CROSS JOIN generate_series(0, 2) class CROSS JOIN LATERAL (
		SELECT scheduled_for FROM deliveries
		WHERE status = 'queued' AND queue = q.queue AND subscription_id = q.subscription_id
			AND deliveries.class = class.class
		ORDER BY event_id LIMIT 1
	) d
	WHERE d.scheduled_for <= $1 AND (p.most IS NULL OR p.started < p.most AND CASE class
		WHEN 1 THEN p.started < p.most - p.most / $8::bigint
		WHEN 2 THEN p.replays_started < p.most / $7::bigint
		ELSE true END)
), waiting (queue, store_id, occurred_at) AS (
	(SELECT queue, store_id, occurred_at FROM undispatched ORDER BY queue, store_id, event_id LIMIT 1)
	UNION ALL
	SELECT u.* FROM waiting w CROSS JOIN LATERAL (
		SELECT queue, store_id, occurred_at FROM undispatched
		WHERE (queue, store_id) > (w.queue, w.store_id) ORDER BY queue, store_id, event_id LIMIT 1) u
), strayed (subscription_id) AS (
	(SELECT subscription_id FROM deliveries WHERE status IN ('retrying', 'dead_letter')
		ORDER BY subscription_id LIMIT 1)
	UNION ALL
	SELECT (SELECT d.subscription_id FROM deliveries d
		WHERE d.status IN ('retrying', 'dead_letter') AND d.subscription_id > s.subscription_id
		ORDER BY d.subscription_id LIMIT 1)
	FROM strayed s WHERE s.subscription_id IS NOT NULL
)
SELECT
	(SELECT min(occurred_at) FROM (SELECT occurred_at FROM waiting LIMIT $3) w),
	(SELECT min(since) FROM due),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'queued' LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'pending' LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'retrying' LIMIT $2) d LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'dead_letter' LIMIT $2) d LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM jobs ORDER BY queue LIMIT $2) j)
