-- Returns the age and the size of the work that waits, in all stores together: the time of the
-- oldest event that is not dispatched, the time of the oldest delivery that may start, and the
-- counts of queued, pending and retrying deliveries, dead letters and jobs. A delivery whose plan
-- allows no more starts in this window does not count as late.
--
-- $1 is the present time.
-- $2 is the largest count: counting ends there.
-- $3 is the largest number of subscriptions with waiting deliveries that are visited.
-- $4 is the start of the plan's window.
-- $5 and $6 are the names and the limits of the plans; null is unlimited.
--
-- The recursive queries jump in an index from one subscription to the next. Everything is read
-- from partial indexes, and no more of it than the limits say.
WITH RECURSIVE queueing (subscription_id) AS (
	(SELECT subscription_id FROM deliveries WHERE status = 'queued' ORDER BY subscription_id LIMIT 1)
	UNION ALL
	SELECT (SELECT d.subscription_id FROM deliveries d
		WHERE d.status = 'queued' AND d.subscription_id > q.subscription_id ORDER BY d.subscription_id LIMIT 1)
	FROM queueing q WHERE q.subscription_id IS NOT NULL
), strayed (subscription_id) AS (
	(SELECT subscription_id FROM deliveries WHERE status IN ('retrying', 'dead_letter') ORDER BY subscription_id LIMIT 1)
	UNION ALL
	SELECT (SELECT d.subscription_id FROM deliveries d
		WHERE d.status IN ('retrying', 'dead_letter') AND d.subscription_id > s.subscription_id
		ORDER BY d.subscription_id LIMIT 1)
	FROM strayed s WHERE s.subscription_id IS NOT NULL
)
SELECT
	(SELECT occurred_at FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT 1),
	(SELECT min(CASE WHEN due.most IS NULL THEN due.scheduled_for ELSE greatest(due.scheduled_for, $4::timestamptz) END)
		FROM (SELECT subscription_id FROM queueing LIMIT $3) q, LATERAL (
			SELECT d.scheduled_for, d.queue, (SELECT ($6::bigint[])[array_position($5::text[], coalesce(w.plan, 'STARTER'))]
				FROM (SELECT WHERE d.queue IS NOT NULL) known LEFT JOIN websites w ON w.id = d.queue) AS most
			FROM deliveries d
			WHERE d.subscription_id = q.subscription_id AND d.status = 'queued' AND d.scheduled_for <= $1
			ORDER BY d.scheduled_for LIMIT 1) due
		WHERE due.most IS NULL OR due.most > coalesce((
			SELECT w.started FROM plan_windows w WHERE w.queue = due.queue AND w.starts_at = $4), 0)),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'queued' LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'pending' LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'retrying' LIMIT $2) d LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'dead_letter' LIMIT $2) d LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM jobs ORDER BY lease_until LIMIT $2) j)
