-- Objects and defaults that no statement uses, and columns that every statement writes.
ALTER TABLE plan_windows DROP COLUMN IF EXISTS taken, DROP COLUMN IF EXISTS replays, DROP COLUMN IF EXISTS last_at;
ALTER TABLE orders ALTER COLUMN promised_at SET NOT NULL, ALTER COLUMN taxes SET NOT NULL,
    ALTER COLUMN taxes SET DEFAULT '[]';
