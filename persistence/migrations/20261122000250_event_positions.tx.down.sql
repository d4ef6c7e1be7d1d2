DROP TRIGGER place_event ON outbox;
DROP FUNCTION place_event();
DROP POLICY IF EXISTS backfill ON outbox;
ALTER TABLE outbox DROP COLUMN placed;
DROP TABLE event_heads, event_log;
DROP FUNCTION event_position(timestamptz);
