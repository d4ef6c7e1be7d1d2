-- Returns resources with deliveries that are held back although none has the turn, or although a first delivery waits
-- for a queued replay. Queues take turns, and so do the resources of a queue. Each row is the last visited queue, a
-- queue, and one of its lost resources, or the one that was read last if others are unread. Each visited queue has a
-- row.
--   $1 last queue of the previous round   $2 maximum number of queues   $3 maximum number of resources
--   $4, $5, $6 queues with unread resources, and the subscription and the resource that were read last of each
--
-- The recursive queries skip in an index from one queue or resource to the next. Bounds on rows of columns, and CASE,
-- have the same reasons as in candidates.sql and claim.sql.
WITH RECURSIVE visited (queue, wrapped, n) AS (
    SELECT $1::text, false, 0
    UNION ALL
    SELECT d.queue, d.wrapped, v.n + 1 FROM visited v CROSS JOIN LATERAL (
        (SELECT queue, false AS wrapped FROM deliveries
            WHERE status = 'queued' AND held AND NOT v.wrapped AND queue > v.queue ORDER BY queue LIMIT 1)
        UNION ALL
        (SELECT queue, true FROM deliveries
            WHERE status = 'queued' AND held AND queue > CASE WHEN v.wrapped THEN v.queue ELSE '' END AND queue <= $1
            ORDER BY queue LIMIT 1)
        LIMIT 1
    ) d WHERE v.n < $2::int
), queue AS MATERIALIZED (
    SELECT v.queue, greatest(1, $3::int / count(*) OVER ()) AS share,
        coalesce(p.subscription_id, '') AS subscription_id, coalesce(p.resource, '') AS resource
    FROM visited v LEFT JOIN unnest($4::text[], $5::text[], $6::text[]) AS p (queue, subscription_id, resource)
        USING (queue)
    WHERE v.n > 0
), line AS MATERIALIZED (
    SELECT q.queue, l.*, l.n = q.share AS cut FROM queue q CROSS JOIN LATERAL (
        WITH RECURSIVE next (subscription_id, resource, class, n) AS (
            SELECT q.subscription_id, q.resource, 0::smallint, 0
            UNION ALL
            SELECT d.subscription_id, d.resource, d.class, p.n + 1 FROM next p CROSS JOIN LATERAL (
                SELECT * FROM (
                    SELECT queue, subscription_id, resource, class FROM deliveries WHERE status = 'queued' AND held
                        AND (queue, subscription_id, resource) > (q.queue, p.subscription_id, p.resource)
                    ORDER BY queue, subscription_id, resource, class LIMIT 1) d WHERE d.queue = q.queue
            ) d WHERE p.n < q.share
        )
        SELECT * FROM next WHERE n > 0
    ) l
), checked AS (
    SELECT l.*, (SELECT CASE d.status WHEN 'queued' THEN d.held OR d.class = 2 AND l.class <> 2
                WHEN 'pending' THEN false WHEN 'retrying' THEN false ELSE true END OR NOT d.ordered
            FROM turns t JOIN deliveries d ON d.id = t.delivery_id
            WHERE t.subscription_id = l.subscription_id AND t.resource = l.resource) IS NOT FALSE AS lost
    FROM line l
)
SELECT last.queue, q.queue, coalesce(c.subscription_id, ''), coalesce(c.resource, ''), coalesce(c.cut, false),
    coalesce(c.lost, false)
FROM (SELECT CASE WHEN max(n) < $2 THEN '' ELSE (array_agg(queue ORDER BY n DESC))[1] END AS queue FROM visited) last
    CROSS JOIN queue q LEFT JOIN checked c ON c.queue = q.queue AND (c.lost OR c.cut)
