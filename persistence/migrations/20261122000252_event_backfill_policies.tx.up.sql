-- The backfill is complete.
DROP POLICY backfill ON outbox;
DROP POLICY backfill ON event_log;
DROP POLICY backfill ON event_heads;
