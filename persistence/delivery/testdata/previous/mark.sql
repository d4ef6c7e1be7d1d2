-- The previous release marks deliveries as started. Only whitespace differs; concatenations are expanded.
UPDATE deliveries SET started_at = $1
		FROM set_config('synchronous_commit', 'off', true) WHERE id = ANY ($2) AND status = 'pending'
			AND started_at IS NULL
