-- Counts the deliveries of a bulk replay by status. The index is built without blocking writes, and therefore outside
-- of a transaction. A repeated migration first drops the rest of an interrupted build.
DROP INDEX CONCURRENTLY IF EXISTS deliveries_of_replay;
--bun:split
CREATE INDEX CONCURRENTLY deliveries_of_replay ON deliveries (replay_id, status) WHERE replay_id IS NOT NULL;
