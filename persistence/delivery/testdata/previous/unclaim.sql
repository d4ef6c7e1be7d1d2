-- The previous release gives back deliveries that could not be started. Only whitespace differs; concatenations are
-- expanded.
UPDATE deliveries SET lease_until = $1
		WHERE id = ANY ($2) AND status = 'pending' AND started_at IS NULL
