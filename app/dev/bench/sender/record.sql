WITH made AS (
	SELECT * FROM unnest($1::text[], $2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::timestamptz[])
		AS made (send_id, number, status_code, error, response_time_ms, attempted_at)
), logged AS (
	INSERT INTO minimal.attempts SELECT * FROM made
)
UPDATE minimal.sends SET due_at = CASE WHEN status_code / 100 <> 2 THEN now() + $7 END
FROM made WHERE sends.id = send_id AND attempts = number
