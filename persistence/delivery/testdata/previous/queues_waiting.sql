-- The previous release selects the limited queues of waiting events. Only whitespace differs; concatenations are
-- expanded.
	SELECT DISTINCT q.queue FROM (SELECT store_id FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1) event
	JOIN plan_queues q ON q.store_id = event.store_id WHERE q.limited
