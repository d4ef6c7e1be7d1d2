-- Slots taken, one row for each window of a queue. A queue is a website (by its id) or a sandbox (by the id of its
-- store).
CREATE TABLE plan_windows (
    queue     text NOT NULL,
    starts_at timestamptz NOT NULL,
    taken     bigint NOT NULL,      -- slots, including those of replays
    replays   bigint NOT NULL,
    last_at   timestamptz NOT NULL, -- start of the last slot
    PRIMARY KEY (queue, starts_at)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON plan_windows TO comanda_system;

-- Websites whose plan was upgraded and whose deliveries move to earlier windows, one window at a time.
CREATE TABLE plan_moves (
    website_id text PRIMARY KEY REFERENCES websites,
    done_to    timestamptz NOT NULL -- window up to which all deliveries have moved
);
GRANT SELECT, INSERT, UPDATE, DELETE ON plan_moves TO comanda_system;

-- Deliveries that wait for their slot, by store. Deliveries that start immediately are not included.
CREATE INDEX deliveries_waiting ON deliveries (store_id, scheduled_for, id)
    WHERE status = 'queued' AND scheduled_for > created_at;

-- The queue of each store. A queue without a limit takes no slots, unless its deliveries are moving to earlier windows:
-- then new deliveries stay behind them.
CREATE VIEW plan_queues WITH (security_invoker) AS
    SELECT s.id AS store_id, s.website_id,
        CASE WHEN s.sandbox_of IS NULL THEN w.id ELSE s.id END AS queue,
        CASE WHEN s.sandbox_of IS NULL THEN w.plan ELSE 'STARTER' END AS plan,
        s.sandbox_of IS NOT NULL OR w.plan <> 'ENTERPRISE'
            OR EXISTS (SELECT FROM plan_moves m WHERE m.website_id = w.id) AS limited
    FROM stores s JOIN websites w ON w.id = s.website_id;
GRANT SELECT ON plan_queues TO comanda_system;

-- Returns the key of the advisory lock for assigning slots of a queue or changing its plan.
CREATE FUNCTION plan_lock(queue text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended('plan/' || queue, 0)
$$;

-- Takes slots for deliveries in the order of their arrival, each in the first window with room. Replays take at most
-- half of a window. With earlier_than, it considers only windows before that one, and may find fewer slots. In the
-- current window, a slot starts now, but not before deliveries that already wait there. The slots of a later window are
-- spread over its first tenth. The statements after the lock must see all data committed before them, so it requires
-- the isolation level READ COMMITTED.
CREATE FUNCTION take_plan_slots(
    of_queue text, wanted bigint, per_window bigint, as_replays boolean, at timestamptz,
    this_window timestamptz, length interval, earlier_than timestamptz
) RETURNS TABLE (place bigint, scheduled_for timestamptz) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    most         bigint := CASE WHEN as_replays THEN per_window / 2 ELSE per_window END;
    tenth_ms     bigint := extract(epoch FROM length) * 100;
    first_window timestamptz := this_window;
    last_window  timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(plan_lock(of_queue));
    -- Keep the previous window: the clock of another server may still be in it.
    DELETE FROM plan_windows w WHERE w.queue = of_queue AND w.starts_at < this_window - length;
    SELECT greatest(this_window, max(w.starts_at)) INTO last_window FROM plan_windows w WHERE w.queue = of_queue;
    IF earlier_than IS NULL AND EXISTS (SELECT FROM plan_moves m WHERE m.website_id = of_queue) THEN
        first_window := last_window;
    END IF;
    last_window := coalesce(earlier_than - length, last_window + length * ceil(wanted / most::float8));
    RETURN QUERY WITH room AS (
        SELECT w.starts_at, coalesce(p.taken, 0) AS taken, coalesce(p.last_at, '-infinity') AS last_at,
            greatest(0, CASE WHEN as_replays
                THEN least(per_window - coalesce(p.taken, 0), most - coalesce(p.replays, 0))
                ELSE per_window - coalesce(p.taken, 0) END) AS free
        FROM generate_series(first_window, last_window, length) AS w (starts_at)
        LEFT JOIN plan_windows p ON p.queue = of_queue AND p.starts_at = w.starts_at
    ), share AS (
        SELECT r.*, r.up_to - r.free AS before, least(r.free, wanted - (r.up_to - r.free)) AS take
        FROM (SELECT *, sum(free) OVER (ORDER BY starts_at)::bigint AS up_to FROM room) r
        WHERE r.free > 0 AND r.up_to - r.free < wanted
    ), slot AS MATERIALIZED (
        SELECT s.starts_at, s.before + i AS place,
            CASE WHEN s.starts_at = this_window THEN greatest(at, s.last_at)
                ELSE greatest(s.starts_at + interval '1 ms' * (tenth_ms * (s.taken + i - 1) / per_window), s.last_at)
                END AS scheduled_for
        FROM share s, generate_series(1, s.take) i
    ), counted AS (
        INSERT INTO plan_windows AS p (queue, starts_at, taken, replays, last_at)
        SELECT of_queue, s.starts_at, count(*), CASE WHEN as_replays THEN count(*) ELSE 0 END, max(s.scheduled_for)
        FROM slot s GROUP BY s.starts_at
        ON CONFLICT (queue, starts_at) DO UPDATE
            SET taken = p.taken + excluded.taken, replays = p.replays + excluded.replays, last_at = excluded.last_at
    )
    SELECT s.place, s.scheduled_for FROM slot s;
END $$;
