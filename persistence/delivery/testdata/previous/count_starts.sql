-- The previous release counts starts. Only whitespace differs; concatenations are expanded.
		INSERT INTO plan_windows AS w (queue, starts_at, taken, replays, started, replays_started, last_at)
		SELECT queue, $1::timestamptz, started, replays, started, replays, $1 FROM (
			SELECT q.queue, count(*) AS started, count(*) FILTER (WHERE c.replay) AS replays
			FROM unnest($2::text[], $3::boolean[]) AS c (store_id, replay) JOIN plan_queues q USING (store_id)
				GROUP BY q.queue
		) claimed
		ON CONFLICT (queue, starts_at) DO UPDATE SET
			started = w.started + excluded.started, replays_started = w.replays_started + excluded.replays_started,
			taken = greatest(w.taken, w.started + excluded.started),
				replays = greatest(w.replays, w.replays_started + excluded.replays_started)
