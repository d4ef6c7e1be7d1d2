-- The previous release selects the limited queues with due deliveries. Only whitespace differs; concatenations are
-- expanded.
WITH RECURSIVE waiting (subscription_id, scheduled_for) AS (
		(SELECT subscription_id, scheduled_for FROM deliveries WHERE status = 'queued'
			ORDER BY subscription_id, scheduled_for LIMIT 1)
		UNION ALL
		SELECT next.* FROM waiting w CROSS JOIN LATERAL (
			SELECT q.subscription_id, q.scheduled_for FROM deliveries q
			WHERE q.status = 'queued' AND q.subscription_id > w.subscription_id
			ORDER BY q.subscription_id, q.scheduled_for LIMIT 1
		) next
	)
	SELECT DISTINCT s.queue FROM waiting w CROSS JOIN LATERAL (
		SELECT q.queue FROM subscriptions s JOIN plan_queues q ON q.store_id = s.store_id
		WHERE s.id = w.subscription_id AND s.deleted_at IS NULL AND q.limited OFFSET 0
	) s WHERE w.scheduled_for <= $1
