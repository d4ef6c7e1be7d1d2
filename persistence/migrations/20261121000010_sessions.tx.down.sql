ALTER TABLE sessions DROP rotated_at, DROP end_reason;
