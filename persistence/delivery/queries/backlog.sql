-- Returns the age and the size of the work that waits, in all stores together: the time of the
-- oldest event that is not dispatched, the time of the oldest due delivery, and the counts of
-- queued, pending and retrying deliveries, dead letters and jobs.
--
-- $1 is the present time.
-- $2 is the largest count: counting ends there.
-- $3 is the largest number of subscriptions with waiting deliveries that are visited.
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
	(SELECT min(due.scheduled_for) FROM (SELECT subscription_id FROM queueing LIMIT $3) q, LATERAL (
		SELECT d.scheduled_for FROM deliveries d
		WHERE d.subscription_id = q.subscription_id AND d.status = 'queued' AND d.scheduled_for <= $1
		ORDER BY d.scheduled_for LIMIT 1) due),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'queued' LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'pending' LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'retrying' LIMIT $2) d LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'dead_letter' LIMIT $2) d LIMIT $2) d),
	(SELECT count(*) FROM (SELECT FROM jobs ORDER BY lease_until LIMIT $2) j)
