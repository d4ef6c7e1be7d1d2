UPDATE minimal.sends SET due_at = now() + $2, attempts = attempts + 1
FROM minimal.webhooks, (
	SELECT id FROM minimal.sends WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
) AS due
WHERE sends.id = due.id AND webhooks.store_id = sends.store_id
RETURNING sends.id, attempts, body, url, secret
