-- Returns the places of queued deliveries in the limited queue of a store, the limit of the queue, and its free starts
-- in the current window. Replays take at most 1/$7 of a window; therefore the place and the free starts of a replay
-- are multiplied by $7. If a customer.* event starts when only customer.* events are queued, the last column is the
-- number of deliveries that start before that time.
--   $1 store              $2 start of the window       $3 deliveries
--   $4, $5 names and limits of the plans; null is unlimited
--   $6 maximum number of deliveries of the queue that are read in addition to $3: in a longer queue, the estimate is
--       too early
--   $7, $8 shares of replays and of each kind of event, see $26 and $27 of claim.sql
WITH queue AS MATERIALIZED (
    SELECT q.queue, p.most, greatest(0, p.most - coalesce(w.started, 0)) AS free,
        greatest(0, least(p.most - coalesce(w.started, 0),
            p.most / $7::bigint - coalesce(w.replays_started, 0))) AS free_for_replays
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
    SELECT *, row_number() OVER (PARTITION BY class ORDER BY event_id, id) AS age,
        row_number() OVER (PARTITION BY class = 1 ORDER BY event_id, id) AS age_of_kind,
        count(*) FILTER (WHERE class = 1) OVER () AS customers, count(*) FILTER (WHERE class <> 1) OVER () AS others
    FROM waiting
), turned AS (
    -- Older replays start before a first delivery, as far as their share of each window allows.
    SELECT aged.*, queue.*, CASE WHEN class = 0
        THEN age + least(age_of_kind - age, free_for_replays + greatest(0, age - (free - free_for_replays)) / ($7 - 1))
        ELSE age_of_kind END AS turn
    FROM aged, queue
), placed AS (
    -- One of $8 starts is for a customer.* event while both kinds are queued.
    SELECT *, class = 1 AND others < ($8::bigint - 1) * turn AS alone,
        turn + CASE WHEN class = 1 THEN least(others, ($8 - 1) * turn)
            ELSE least(customers, turn / ($8 - 1)) END AS place
    FROM turned
)
SELECT id, most, CASE WHEN class = 2 THEN least(free, $7 * free_for_replays) ELSE free END,
    CASE WHEN class = 2 THEN greatest(place, $7 * age) ELSE place END,
    CASE WHEN alone THEN others + others / ($8 - 1) END
FROM placed WHERE id = ANY ($3)
