-- Returns the size of the unfinished work of all stores: the time of the oldest event that is not dispatched, that of
-- the oldest delivery that is held back, and the numbers of queued deliveries that are not held back, of those that
-- are, of pending and retrying deliveries, dead letters and jobs.
--
-- $1 limits each count.
-- $2 limits the subscriptions with failed deliveries, the stores with undispatched events, and the resources with
--    deliveries that are held back, that are read.
--
-- The recursive queries skip in an index from one subscription, store or resource to the next. All rows come from
-- partial indexes, or from the small table of undispatched events, and the limits bound their number.
WITH RECURSIVE waiting (queue, store_id, occurred_at) AS (
	(SELECT queue, store_id, occurred_at FROM undispatched ORDER BY queue, store_id, number LIMIT 1)
	UNION ALL
	SELECT u.* FROM waiting w CROSS JOIN LATERAL (
		SELECT queue, store_id, occurred_at FROM undispatched
		WHERE (queue, store_id) > (w.queue, w.store_id) ORDER BY queue, store_id, number LIMIT 1) u
), strayed (subscription_id) AS (
	(SELECT subscription_id FROM deliveries WHERE status IN ('retrying', 'dead_letter')
		ORDER BY subscription_id LIMIT 1)
	UNION ALL
	SELECT (SELECT d.subscription_id FROM deliveries d
		WHERE d.status IN ('retrying', 'dead_letter') AND d.subscription_id > s.subscription_id
		ORDER BY d.subscription_id LIMIT 1)
	FROM strayed s WHERE s.subscription_id IS NOT NULL
), held (queue, subscription_id, resource, class, scheduled_for) AS (
	(SELECT queue, subscription_id, resource, class, scheduled_for FROM deliveries WHERE status = 'queued' AND held
		ORDER BY queue, subscription_id, resource, class, position LIMIT 1)
	UNION ALL
	SELECT d.* FROM held h CROSS JOIN LATERAL (
		SELECT queue, subscription_id, resource, class, scheduled_for FROM deliveries
		WHERE status = 'queued' AND held
			AND (queue, subscription_id, resource, class) > (h.queue, h.subscription_id, h.resource, h.class)
		ORDER BY queue, subscription_id, resource, class, position LIMIT 1) d
)
SELECT
	(SELECT min(occurred_at) FROM (SELECT occurred_at FROM waiting LIMIT $2) w),
	(SELECT min(scheduled_for) FROM (SELECT scheduled_for FROM held LIMIT $2) h),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'queued' AND NOT held LIMIT $1) d),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'queued' AND held LIMIT $1) d),
	(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'pending' LIMIT $1) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $2) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'retrying' LIMIT $1) d LIMIT $1) d),
	(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $2) s, LATERAL (
		SELECT FROM deliveries d
		WHERE d.subscription_id = s.subscription_id AND d.status = 'dead_letter' LIMIT $1) d LIMIT $1) d),
	(SELECT count(*) FROM (SELECT FROM jobs ORDER BY queue LIMIT $1) j)
