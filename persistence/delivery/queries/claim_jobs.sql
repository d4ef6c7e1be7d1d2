-- Claims jobs: leases them to one worker. Queues take turns, each with its oldest jobs. Each row returns the last
-- visited queue and a job. Without jobs, there is one row with empty columns.
--   $1 now                                      $2 end of the lease
--   $3 claim urgent jobs, or the others         $4 last queue of the previous claim
--   $5 maximum number of jobs                   $6 maximum number of jobs of a queue, including those in $8
--   $7, $8 queues with jobs that the worker is starting, and their numbers
--   $9 maximum number of queues to visit, including those without a job to claim
--
-- The recursive query skips in an index from one queue to the next. It ends when each job of the limit can come from
-- another queue, so that every visited queue with a job gets one.
WITH RECURSIVE visited (queue, wrapped, n, places, found) AS (
    SELECT $4::text, false, 0, 0, 0
    UNION ALL
    SELECT q.queue, q.wrapped, v.n + 1, p.places, v.found + CASE WHEN p.places > 0 AND EXISTS (
            SELECT FROM jobs WHERE queue = q.queue AND urgent = $3 AND lease_until <= $1) THEN 1 ELSE 0 END
    FROM visited v CROSS JOIN LATERAL (
        (SELECT queue, false AS wrapped FROM jobs
            WHERE urgent = $3 AND NOT v.wrapped AND queue > v.queue ORDER BY queue LIMIT 1)
        UNION ALL
        (SELECT queue, true FROM jobs WHERE urgent = $3 AND NOT v.wrapped AND queue <= $4 ORDER BY queue LIMIT 1)
        UNION ALL
        (SELECT queue, true FROM jobs
            WHERE urgent = $3 AND v.wrapped AND queue > v.queue AND queue <= $4 ORDER BY queue LIMIT 1)
        LIMIT 1
    ) q CROSS JOIN LATERAL (
        SELECT $6::int - coalesce(($8::int[])[array_position($7::text[], q.queue)], 0) AS places
    ) p
    WHERE v.n < $9 AND v.found < $5
), free AS MATERIALIZED (
    SELECT j.id, row_number() OVER (PARTITION BY v.queue ORDER BY j.lease_until, j.id) AS nth, v.n
    FROM visited v CROSS JOIN LATERAL (
        SELECT id, lease_until FROM jobs WHERE queue = v.queue AND urgent = $3 AND lease_until <= $1
        ORDER BY lease_until, id LIMIT greatest(v.places, 0) FOR UPDATE SKIP LOCKED
    ) j WHERE v.n > 0
), picked AS MATERIALIZED (
    SELECT id, nth, n FROM free ORDER BY nth, n LIMIT $5
), claimed AS (
    UPDATE jobs SET lease_until = $2 WHERE id = ANY (ARRAY(SELECT id FROM picked))
    RETURNING id, queue, kind, store_id, subject
)
SELECT last.queue, coalesce(c.id, ''), coalesce(c.queue, ''), coalesce(c.kind, ''), coalesce(c.store_id, ''),
    coalesce(c.subject, '')
FROM (SELECT queue FROM visited ORDER BY n DESC LIMIT 1) last LEFT JOIN (claimed c JOIN picked USING (id)) ON true
ORDER BY picked.nth, picked.n
