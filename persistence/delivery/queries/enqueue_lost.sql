-- Enqueues the jobs of a batch of unfinished work again, unless they are already enqueued. It returns the number of
-- jobs, the size of the batch, and the position of its last row.
--   $1 now                                       $2 time before which work counts as unfinished
--   $3 kind of the jobs                          $4 kinds of urgent jobs and mails
--   $5, $6, $7 position of the previous batch    $8 maximum size of a batch
WITH batch AS MATERIALIZED (
    -- The query of lost_jobs.go: rows in the order of their positions (queue, at, subject), bounded before it is known
    -- whether they are unfinished.
    %s
), enqueued AS (
    INSERT INTO jobs (id, store_id, queue, kind, subject, urgent, created_at, lease_until)
    SELECT 'job_' || uuidv7_hex($1, row_number() OVER ()), b.store_id, store_queue(b.store_id), $3, b.subject,
        b.kind = ANY ($4), $1, $1
    FROM batch b
    -- With NOT EXISTS, PostgreSQL may compare each row with all jobs of the kind.
    WHERE b.lost AND (SELECT true FROM jobs j WHERE j.subject = b.subject AND j.kind = $3 LIMIT 1) IS NULL
    RETURNING 1
)
SELECT (SELECT count(*) FROM enqueued), (SELECT count(*) FROM batch), queue, at, subject FROM (
    SELECT queue, at, subject FROM batch UNION ALL SELECT $5::text, $6::timestamptz, $7::text
    ORDER BY queue DESC, at DESC, subject DESC LIMIT 1
) last
