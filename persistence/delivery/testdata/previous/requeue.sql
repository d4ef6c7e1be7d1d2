-- The previous release queues ended deliveries again, each in a slot. $1 is the store, $2 and $3 are the deliveries and
-- their slots, $4 is the bulk replay. Only whitespace differs; concatenations are expanded.
WITH d AS (
			UPDATE deliveries d SET status = 'queued', reason = '', replays = replays + 1, replay_id = nullif($4, ''),
				scheduled_for = slot.at,
				lease_until = NULL, started_at = NULL, next_retry_at = NULL, ended_at = NULL
			FROM unnest($2::text[], $3::timestamptz[]) AS slot (id, at) WHERE d.store_id = $1 AND d.id = slot.id
				RETURNING d.*
		) SELECT id, subscription_id, event_id, event_type, status, reason, attempts, scheduled_for, created_at
		FROM d
