-- The dispatched events of a store in the order of their dispatch, for lists and streams. It is a table of its own, so
-- that the migration rewrites and locks no large table.
CREATE TABLE event_log (
    id       text PRIMARY KEY,      -- of the event
    store_id text NOT NULL,
    position bigint NOT NULL,       -- ascending, see event_position
    type     text NOT NULL,
    UNIQUE (store_id, position)
);
CREATE INDEX event_log_of_type ON event_log (store_id, type, position);

-- The last position of each store. The lock of its row lasts until the commit, so that the positions of a store become
-- visible in ascending order.
CREATE TABLE event_heads (
    store_id text PRIMARY KEY,
    position bigint NOT NULL,
    previous bigint NOT NULL,       -- position before the last dispatch
    taken    bigint NOT NULL,       -- number of events of the last dispatch
    erased   bigint NOT NULL DEFAULT 0 -- highest position of an erased event
) WITH (fillfactor = 50);

-- Returns the first position of a millisecond. The position of an event is that of its time, or the next free one if an
-- event of a later time was dispatched before it. Thus a period is a range of positions.
CREATE FUNCTION event_position(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (extract(epoch FROM at) * 1000)::bigint << 20
$$;

ALTER TABLE outbox ADD COLUMN placed boolean; -- its dispatch has given it a position

-- Gives a position to an event that a relay of the previous release dispatches.
CREATE FUNCTION place_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
BEGIN
    INSERT INTO event_heads AS h (store_id, position, previous, taken)
        VALUES (NEW.store_id, event_position(NEW.occurred_at), 0, 1)
        ON CONFLICT (store_id) DO UPDATE
            SET position = greatest(h.position + 1, excluded.position), previous = h.position, taken = 1
        RETURNING position INTO at;
    INSERT INTO event_log (id, store_id, position, type) VALUES (NEW.id, NEW.store_id, at, NEW.type);
    NEW.placed := true;
    RETURN NEW;
END $$;
CREATE TRIGGER place_event BEFORE UPDATE OF dispatched_at ON outbox FOR EACH ROW
    WHEN (OLD.dispatched_at IS NULL AND NEW.dispatched_at IS NOT NULL AND NEW.placed IS NULL)
    EXECUTE FUNCTION place_event();

CALL fence('event_log', 'store_id');
CALL fence('event_heads', 'store_id');

-- For the next migration, which reads a large table and must not lock it: forced row-level security also applies to the
-- owner.
CREATE POLICY backfill ON outbox FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY backfill ON event_log TO CURRENT_USER USING (true);
CREATE POLICY backfill ON event_heads TO CURRENT_USER USING (true);
