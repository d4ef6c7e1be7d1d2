-- Columns, triggers and indexes that no statement uses.
ALTER TABLE plan_windows DROP COLUMN IF EXISTS taken, DROP COLUMN IF EXISTS replays, DROP COLUMN IF EXISTS last_at;
