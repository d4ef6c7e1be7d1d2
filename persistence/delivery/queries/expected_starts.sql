-- The places of queued deliveries in the limited queue of a store: with the starts that a window allows them, and those
-- that are left in this window. A replay's place and free starts are those of twice as many replays, since these take
-- half of a window. A customer.* event that starts without others around uses up four fifths of a window.
--   $1 store              $2 start of the window       $3 deliveries
--   $4, $5 names and limits of the plans, null is unlimited
--   $6 how much of the queue is read beside these: a delivery behind more gets an earlier place than it has
WITH queue AS MATERIALIZED (
    SELECT q.queue, p.most, coalesce(w.started, 0) AS started, coalesce(w.replays_started, 0) AS replays_started
    FROM plan_queues q
        CROSS JOIN LATERAL (SELECT ($5::bigint[])[array_position($4::text[], q.plan)] AS most OFFSET 0) p
        LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $2
    WHERE q.store_id = $1 AND p.most IS NOT NULL
), waiting AS MATERIALIZED (
    SELECT d.* FROM queue CROSS JOIN LATERAL (
        (SELECT id, class, event_id FROM deliveries WHERE status = 'queued' AND queue = queue.queue LIMIT $6)
        UNION
        (SELECT id, class, event_id FROM deliveries WHERE id = ANY ($3) AND status = 'queued' AND queue = queue.queue)
    ) d
), aged AS (
    SELECT *, row_number() OVER (PARTITION BY class = 1 ORDER BY event_id, id) AS age,
        row_number() OVER (PARTITION BY class = 2 ORDER BY event_id, id) AS replay_age,
        count(*) FILTER (WHERE class = 1) OVER () AS customers, count(*) FILTER (WHERE class <> 1) OVER () AS others
    FROM waiting
), placed AS (
    -- One of five starts is for a customer.* event, as long as both kinds wait.
    SELECT id, class, replay_age, class = 1 AND others < 4 * age AS alone,
        age + CASE WHEN class = 1 THEN least(others, 4 * age) ELSE least(customers, age / 4) END AS place
    FROM aged
)
SELECT placed.id, CASE WHEN alone THEN most - most / 5 ELSE most END,
    CASE WHEN alone THEN most - most / 5 - started
        WHEN class = 2 THEN least(most - started, 2 * (most / 2 - replays_started))
        ELSE most - started END,
    CASE WHEN class = 2 THEN greatest(place, 2 * replay_age) ELSE place END
FROM placed, queue WHERE placed.id = ANY ($3)
